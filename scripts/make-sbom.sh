#!/usr/bin/env bash
# Writes the bill of materials of a release's program, as SPDX 2.3 in JSON: what it is linked with, by scripts/collect-licences.sh.
#
#   scripts/make-sbom.sh PROGRAM VERSION ARCH SECONDS LICENCES_DIRECTORY >FILE      SECONDS: the date of the sources
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 5 ] || die "usage: scripts/make-sbom.sh PROGRAM VERSION ARCH SECONDS LICENCES_DIRECTORY"
program=$1 version=$2 arch=$3 seconds=$4 licences=$5
hash=$(sha256sum "$program" | cut -d ' ' -f 1)
distribution=$(. /etc/os-release && echo "$ID-$VERSION_ID")
unknown='"copyrightText":"NOASSERTION","licenseConcluded":"NOASSERTION","downloadLocation":"NOASSERTION","filesAnalyzed":false'

# package NAME VERSION MORE_KEYS
package() {
  printf '{"SPDXID":"SPDXRef-%s","name":"%s","versionInfo":"%s",%s,%s}' "${1//[^A-Za-z0-9.-]/-}" "$1" "$2" "$unknown" "$3"
}
purl() { # NAME VERSION QUALIFIERS
  printf '"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:deb/debian/%s@%s?%s"}]' \
    "${1//+/%2B}" "$(sed 's/+/%2B/g; s/:/%3A/g' <<<"$2")" "$3"
}
cat <<JSON
{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"ioc_exporter-$version.linux-$arch",
"documentNamespace":"https://ioc-exporter.invalid/spdx/$version/$arch/$hash",
"creationInfo":{"created":"$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)","creators":["Tool: make-sbom.sh"]},
"comment":"Licences of the packages are in licences/NAME of the archive.",
"packages":[
$(package ioc_exporter "$version" '"licenseDeclared":"BSD-3-Clause AND (BSD-3-Clause OR GPL-2.0-only)","primaryPackagePurpose":"APPLICATION","packageFileName":"ioc_exporter","checksums":[{"algorithm":"SHA256","checksumValue":"'"$hash"'"}]')
JSON
relations=
while IFS=$'\t' read -r name number source source_version how; do
  more='"licenseDeclared":"NOASSERTION","supplier":"Organization: Debian"'
  case $how in
    static | headers)
      more+=",\"sourceInfo\":\"built from $source $source_version\",$(purl "$name" "$number" "arch=$arch&distro=$distribution")" ;;
    *)
      more+=",\"packageFileName\":\"${how#* }\",\"checksums\":[{\"algorithm\":\"SHA256\",\"checksumValue\":\"${how% *}\"}]"
      more+=",$(purl "$source" "$source_version" arch=source)" ;;
  esac
  printf ',%s\n' "$(package "$name" "$number" "$more")"
  relations+=",
{\"spdxElementId\":\"SPDXRef-ioc-exporter\",\"relationshipType\":\"STATIC_LINK\",\"relatedSpdxElement\":\"SPDXRef-${name//[^A-Za-z0-9.-]/-}\"}"
done <"$licences/packages"
printf '],\n"relationships":[\n%s%s]}\n' \
  '{"spdxElementId":"SPDXRef-DOCUMENT","relationshipType":"DESCRIBES","relatedSpdxElement":"SPDXRef-ioc-exporter"}' "$relations"
