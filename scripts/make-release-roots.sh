#!/usr/bin/env bash
# Lays out what other releases of Debian have of a C library and its name services, once, for the test of the static
# binary, from this host's own Debian mirror:
#
#   scripts/make-release-roots.sh DIRECTORY
#
#   DIRECTORY/SUITE/    for each suite: enough for a program that is linked with that C library
#
# On a host that is not Debian the directory stays empty, and the test skips them and says so.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-release-roots.sh DIRECTORY"
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
# shellcheck source=scripts/debian.sh
. "$project/scripts/debian.sh"
suites=(bullseye bookworm trixie)
packages=(base-files libc6 libc-bin libgcc-s1 libcap2 libnss-systemd libnss-myhostname)

lay_out() {
  local suite=$1 target=$directory/$1 work package
  [ ! -e "$target" ] || return 0
  say "the C library of $suite for the test of the static binary"
  apt_of "$suite" update || die "fetch the package list of $suite from this host's mirror: see above"
  work=$(mktemp -d "$directory/fetch.XXXXXX")
  (cd "$work" && apt_of "$suite" download "${packages[@]}") || die "download ${packages[*]} of $suite: see above"
  mkdir "$work/root"
  for package in "$work"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/root" --keep-directory-symlink
  done
  mv "$work/root" "$target"
  rm -rf "$work" "$directory/apt/$suite"
}

uri=$(mirror)
if [ -z "$uri" ] || [ ! -r "$keyring" ]; then
  say "no other releases for the test of the static binary: this host's package sources are not Debian's"
  exit 0
fi
for suite in "${suites[@]}"; do lay_out "$suite"; done
rm -rf "$directory/apt"
