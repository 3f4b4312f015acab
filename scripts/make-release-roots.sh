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

# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

[ $# -eq 1 ] || die "usage: scripts/make-release-roots.sh DIRECTORY"
suites=(bullseye bookworm trixie)
packages=(base-files libc6 libc-bin libgcc-s1 libcap2 libnss-systemd libnss-myhostname)

lay_out() {
  local suite=$1 target=$directory/$1 package
  [ ! -e "$target" ] || return 0
  say "the C library of $suite for the test of the static binary"
  update "$suite"
  download "$suite" "${packages[@]}"
  mkdir "$work/root"
  for package in "$work"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/root" --keep-directory-symlink
  done
  mv "$work/root" "$target"
  drop_work "$suite"
}

begin_debian "other releases for the test of the static binary" "$1"
for suite in "${suites[@]}"; do lay_out "$suite"; done
end_debian
