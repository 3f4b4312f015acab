#!/usr/bin/env bash
# Collects what the authors of the libraries ask for that ioc_exporter_static is linked with, as Debian's packages say it, and
# lists the libraries: TARGET_DIRECTORY/packages has a line for each, of words with tabs between them: its name, its version,
# the source package with its version, and "headers", "static", or for what third_party/ builds the SHA256 and file of its source.
#
#   scripts/collect-licences.sh BUILD_DIRECTORY TARGET_DIRECTORY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

[ $# -eq 2 ] || die "usage: scripts/collect-licences.sh BUILD_DIRECTORY TARGET_DIRECTORY"
build=$1 target=$2
mkdir -p "$target/common"

# The archives that the linker took members of. Those of a cross-build are in a root of scripts/make-cross-root.sh, but for the
# compiler's, which are the host's.
map=$build/ioc_exporter_static.map
[ -r "$map" ] || die "there is no $map, which linking ioc_exporter_static makes"
own=$(readlink -f "$build")
archives=$(sed -n 's,^\(/[^ ()]*\.a\)(.*,\1,p' "$map" | sort -u | xargs readlink -f | sort -u | grep -v "^$own/")
cross=$(sed -n 's,^\(/.*\)/usr/lib/[^/]*/libcrypto\.a$,\1,p' <<<"$archives")
declare -A owners=()
while read -r package archive; do owners[$archive]=${package%%:*}; done < <(
  grep -v "^${cross:-none}/" <<<"$archives" | xargs dpkg -S
  [ -z "$cross" ] || (cd "$cross/packages" && grep "^$cross/" <<<"$archives" | sed "s,^$cross,," | grep -HxF -f - -- * | sed "s,:,: $cross,")
)
declare -A seen=()
take() { # PACKAGE ROOT HOW
  [ -z "${seen[$1]:-}" ] || return 0
  seen[$1]=yes
  cp "$2/usr/share/doc/$1/copyright" "$target/$1"
  # shellcheck disable=SC2016 # dpkg fills these in
  local form='${Package}\t${Version}\t${source:Package}\t${source:Version}\n'
  if [ -n "$2" ]; then
    awk -v FS='\t' -v OFS='\t' -v name="$1" -v how="$3" '$1 == name { print $0, how }' "$2/packages/.versions"
  else
    # A package of several architectures has one version.
    dpkg-query -W -f "$form" "$1" | sort -u | sed "s/\$/\t$3/"
  fi
}
{
  while read -r archive; do
    [ -n "${owners[$archive]:-}" ] || die "no package has $archive"
    from=
    [ -z "$cross" ] || [[ $archive != "$cross"/* ]] || from=$cross
    take "${owners[$archive]}" "$from" static
  done <<<"$archives"
  for package in prometheus-cpp-dev nlohmann-json3-dev libcxxopts-dev libprotozero-dev; do take "$package" "$cross" headers; done
} >"$target/packages.unsorted"
for source in civetweb:LICENSE.md curl:COPYING c-ares:LICENSE.md zydis:LICENSE spdlog:LICENSE fmt:LICENSE.rst; do
  cp "$build/third_party/${source%%:*}/${source#*:}" "$target/${source%%:*}"
done
# NAME_VERSION.orig.tar.*, and NAME_VERSION-REVISION.debian.tar.* where Debian's patches are taken.
grep -v '^#' "$here/../third_party/sources.txt" | LC_ALL=C sort -k 2 | while read -r hash path; do
  file=${path##*/} name=${path%/*}
  name=${name##*/}
  version=${file#*_}
  case $file in
    *.debian.tar.*) debian=${version%.debian.tar.*} ;;
    *)
      version=${version%.orig.tar.*}
      [ "${debian_of:-}" != "$name" ] || version=$debian
      printf '%s\t%s\t%s\t%s\t%s %s\n' "${name/fmtlib/fmt}" "$version" "$name" "$version" "$hash" "$file"
      ;;
  esac
  debian_of=$name
done >>"$target/packages.unsorted"
LC_ALL=C sort "$target/packages.unsorted" >"$target/packages"
rm "$target/packages.unsorted"
# Which those of Debian refer to.
grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' -r "$target" | sort -u | while read -r text; do
  [ ! -f "$text" ] || cp "$text" "$target/common"
done
cat >"$target/README" <<'TEXT'
The libraries that ioc_exporter is linked with, statically (`packages` lists them), and what their authors ask for. Some (glibc,
libelf, libseccomp) are under the LGPL: the sources of this release, with scripts/make-release.sh, make it anew with other
versions of them.
TEXT
