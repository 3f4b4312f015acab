#!/usr/bin/env bash
# Fetches the kernels that tests/vm boots, once, from this host's own Debian mirror:
#
#   scripts/make-vm-kernels.sh DIRECTORY [ARCH [SERIES...]]      ARCH: Debian's name, by default this host's
#
#   DIRECTORY/SERIES/vmlinuz    for each line of tests/vm/kernels.txt, or for those SERIES alone
#
# apt checks the signatures with lists of its own: the host's package sources are neither changed nor
# asked for more than where its mirror is. Nothing is installed. On a host that is not Debian there is
# nothing to fetch from: the directory stays empty, and the tests skip and say so.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

[ $# -ge 1 ] || die "usage: scripts/make-vm-kernels.sh DIRECTORY [ARCH [SERIES...]]"
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# image_of SUITE META: the image that linux-image-<arch> depends on, for example linux-image-6.1.0-56-amd64.
image_of() {
  local images
  images=$(apt_of "$1" install -o Debug::NoLocking=1 --no-install-recommends --print-uris "$2" |
    sed -n "s/^'[^']*' \(linux-image-[0-9][^_ ]*\)_.*/\1/p")
  echo "${images%%$'\n'*}"
}

fetch() {
  local series=$1 suite=$2 meta=linux-image-${3:+$3-}$arch target=$directory/$1 image
  [ ! -e "$target/vmlinuz" ] || return 0
  say "Linux $series for the tests in virtual machines ($suite)"
  update "$suite"
  image=$(image_of "$suite" "$meta")
  [ -n "$image" ] || die "there is no $meta in $suite"
  download "$suite" "$image"
  mkdir -p "$target"
  dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -C "$work" --wildcards './boot/vmlinuz*'
  mv "$work"/boot/vmlinuz-* "$target/vmlinuz"
  drop_work "$suite"
}

begin_debian "kernels for the tests in virtual machines" "$1" "${2:-}"
shift $(($# > 1 ? 2 : 1))
while read -r series suite flavour; do
  case $series in "" | "#"*) continue ;; esac
  [ $# -eq 0 ] || [[ " $* " == *" $series "* ]] || continue
  fetch "$series" "$suite" "$flavour"
done <"$project/tests/vm/kernels.txt"
end_debian
