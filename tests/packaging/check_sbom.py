"""The bill of materials: SPDX 2.3 as far as it is used, and that it names what is in the program, in the versions that the
program itself says.

    check_sbom.py FILE PROGRAM SOURCES_TXT
"""
import hashlib
import json
import re
import sys

file, program, sources = sys.argv[1:]
with open(file, encoding="ascii") as stream:
    made = json.load(stream)
with open(program, "rb") as stream:
    content = stream.read()

assert (made["spdxVersion"], made["dataLicense"], made["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["creationInfo"]["created"]) and made["creationInfo"]["creators"]
packages = {package["SPDXID"]: package for package in made["packages"]}
assert len(packages) == len(made["packages"]), "two packages have one SPDXID"
for identity, package in packages.items():
    assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identity), identity
    assert package["name"] and package["versionInfo"] and package["downloadLocation"] and not package["filesAnalyzed"], package
linked = {each["relatedSpdxElement"] for each in made["relationships"] if each["relationshipType"] == "STATIC_LINK"}
assert linked == packages.keys() - {"SPDXRef-ioc-exporter"}
[described] = [each["relatedSpdxElement"] for each in made["relationships"] if each["relationshipType"] == "DESCRIBES"]
own = packages[described]
assert own["checksums"] == [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()}]

versions = {package["name"]: package["versionInfo"] for package in packages.values()}
for name in ("libc6-dev", "libstdc++-12-dev", "libbpf-dev", "libelf-dev", "libre2-dev", "libabsl-dev", "libyaml-cpp-dev", "libcrypt-dev",
             "libdeflate-dev", "libcap-dev", "libseccomp-dev", "nlohmann-json3-dev", "prometheus-cpp-dev", "libprotozero-dev"):
    assert name in versions, f"{name} is missing"
# By what each has in the program.
for name, said in {"libssl-dev": rb"OpenSSL (3\.\d+\.\d+) ", "zlib1g-dev": rb"inflate (1\.\d+\.\d+) Copy",
                   "libzstd-dev": rb"\0(1\.5\.\d)\0", "civetweb": rb"\0(1\.1\d)\0"}.items():
    version = re.split(r"[-+]|\.dfsg", versions[name].rpartition(":")[2])[0]
    found = {match.decode() for match in re.findall(said, content)}
    assert version in found, f"{name} is {version}; the program says {found}"
# What third_party/ builds, by the hash of its source.
hashes = {package["packageFileName"]: package["checksums"][0]["checksumValue"] for package in packages.values()
          if package is not own and "checksums" in package}
with open(sources, encoding="ascii") as stream:
    expected = {line.split()[1].rpartition("/")[2]: line.split()[0] for line in stream if ".orig." in line}
assert hashes == expected
