"""The image of a release, run as the DaemonSet runs it, beside IOCs in containers of their own."""
import io
import re
import subprocess
import tarfile

import pytest

from harness import clients, databases, env
from harness.containers import PROJECT, ContainerExporter, ContainerIoc, Image, config_map
from harness.exporter import run_exporter
from harness.scrape import PROCESSED, PUTS

BASE = "7.0.7"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """Of an archive with what the image takes from a release; the same archive makes the same image."""
    with open(env.exporter_binary(), "rb") as binary:
        if b"/ld-" in binary.read(4096):  # the loader's path stands at the beginning
            pytest.skip(f"{env.exporter_binary()} needs libraries: the image is of the static one")
    version = re.match(r"ioc_exporter (\S+)", run_exporter("--version").stdout)[1]
    folder = tmp_path_factory.mktemp("image")
    archive = folder / f"ioc_exporter-{version}.linux-amd64.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        top = archive.name.removesuffix(".tar.gz")
        binary = tar.gettarinfo(env.exporter_binary(), f"{top}/ioc_exporter")
        binary.mtime = 1700000000
        with open(env.exporter_binary(), "rb") as content:
            tar.addfile(binary, content)
        tar.add(PROJECT / "LICENSE", f"{top}/LICENSE")
        text = tarfile.TarInfo(f"{top}/licences/x/copyright")
        tar.addfile(text, io.BytesIO())
    for once in ("first", "second"):
        subprocess.run([PROJECT / "scripts" / "make-image.sh", archive, folder / once], check=True, capture_output=True)
    name = f"{archive.name.removesuffix('.tar.gz')}.oci.tar"
    made = (folder / "first" / name).read_bytes()
    assert made == (folder / "second" / name).read_bytes()
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder / "first", check=True)
    return Image(folder / "first" / name)


def test_image_holds_the_one_file(image):
    config = image.config
    assert (config["os"], config["architecture"]) == ("linux", "amd64")
    assert config["created"] == "2023-11-14T22:13:20Z", "the time of the sources"
    with tarfile.open(fileobj=io.BytesIO(image.layer)) as tar:
        members = {member.name: member for member in tar}
    assert {(member.uid, member.gid, member.mtime) for member in members.values()} == {(0, 0, 1700000000)}
    assert [name for name, member in members.items() if member.isfile() and member.mode & 0o111] == ["ioc_exporter"]
    assert members["usr/share/doc/ioc_exporter/LICENSE"].isfile()


def test_beside_iocs_in_containers(started, log_dir, image):
    """Records, puts and the server's word are exact, names are those of the pods, and a restart continues."""
    rootfs = image.unpack(log_dir / "image")
    for folder in ("state", "config", "kubelet"):
        (log_dir / folder).mkdir()
    for name, text in config_map().items():
        (log_dir / "config" / name).write_text(text)
    places = {"/var/lib/ioc_exporter": log_dir / "state", "config": log_dir / "config",
              "/var/log/containers": log_dir / "kubelet"}
    options = ["--overhead.budget=0", "--ioc.include=boxed-.*", "--strict",
               "--ioc.name-source=env:HOSTNAME,container,exe"]

    def run(name: str) -> ContainerExporter:
        return started.add(ContainerExporter(log_dir, name, image, rootfs, places, *options))

    def run_ioc(name: str, prefix: str, **names: str) -> ContainerIoc:
        return started.add(ContainerIoc(name, databases.put_targets(prefix, 1), log_dir, BASE, **names)).wait_running()

    vacuum = run_ioc("boxed-vacuum", "A:", kubelet_name="vacuum-0_controls_boxed-vacuum")
    exporter = run("exporter")
    magnets = run_ioc("boxed-magnets", "B:", host_name="boxed-magnets")
    for ioc in (vacuum, magnets):
        exporter.wait_up(ioc)
        exporter.wait_put_source(ioc, "server")
        assert exporter.scrape().series("epics_ioc_info", ioc=ioc.name, user="root"), "the node's /etc/passwd"
    def write(ioc: ContainerIoc, pv: str, count: int) -> None:
        client = started.add(clients.libca(log_dir, [ioc.port], [pv], count, prefix=ioc.inside))
        assert client.wait_connected().send() == count

    for count, (ioc, prefix) in enumerate(((vacuum, "A:"), (magnets, "B:")), start=211):
        write(ioc, f"{prefix}set1", count)
        ioc.process_once(f"{prefix}array1", count - 200)
        scrape = exporter.wait_scrape(lambda s, ioc=ioc: s.total(PUTS, ioc=ioc.name) >= count, "all puts")
        assert scrape.total(PUTS, ioc=ioc.name, pv=f"{prefix}set1") == count
        assert scrape.total(PUTS, ioc=ioc.name) == ioc.get(f"{prefix}set1:count.VAL") == count
        assert scrape.count(PROCESSED, ioc=ioc.name, record=f"{prefix}set1") == count
        assert scrape.count(PROCESSED, ioc=ioc.name, record=f"{prefix}array1") == count - 200
    # It has the capabilities that it needs now, and no others.
    with open(f"/proc/{exporter.pid}/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    assert set(lines["Uid"].split()) != {"0"} and lines["Seccomp"].strip() == "2"

    assert exporter.stop() == 0, exporter.process.describe()
    assert {path.name for path in (log_dir / "state").iterdir()} == {"channels"}
    again = run("exporter-again")
    for ioc in (vacuum, magnets):
        again.wait_up(ioc)
    write(magnets, "B:set1", 97)
    again.wait_scrape(lambda s: s.total(PUTS, ioc=magnets.name, pv="B:set1") == 97, "its puts")
    vacuum.kill()
    again.wait_scrape(lambda s: s.value("epics_ioc_up", ioc="boxed-vacuum") == 0, "the container is gone")
