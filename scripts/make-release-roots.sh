#!/usr/bin/env bash
# Lays out other releases of Debian, once, for the tests of packages and of the static binary, from this host's own Debian
# mirror:
#
#   scripts/make-release-roots.sh DIRECTORY
#
#   DIRECTORY/SUITE/    for each suite: its essential packages, name services, and in one of them rpm
#
# On a host that is not Debian the directory stays empty, and the tests skip them and say so. It needs root.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

[ $# -eq 1 ] || die "usage: scripts/make-release-roots.sh DIRECTORY"
# That of bullseye is rpm 4.16, as RHEL 9 has it.
suites=(bullseye:,rpm bookworm: trixie:)
services=(libnss-systemd libnss-myhostname)

lay_out() { # SUITE MORE_PACKAGES
  local suite=$1 packages=passwd,libgcc-s1,libcap2$2 target=$directory/$1 package
  [ "$(cat "$target/made-for" 2>/dev/null)" != "$packages ${services[*]}" ] || return 0
  say "the essential packages of $suite for the tests of packages"
  update "$suite"
  download "$suite" "${services[@]}" # without what they depend on
  mmdebstrap --mode=root --variant=essential --quiet --include="$packages" \
    --dpkgopt=force-unsafe-io --aptopt='APT::Sandbox::User "root"' "$suite" "$work/root" "deb [signed-by=$keyring] $uri $suite main" ||
    die "lay out $suite: see above"
  for package in "$work"/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/root" --keep-directory-symlink
  done
  rm -rf "$work"/root/{usr/share/{doc,locale,man,info}/*,var/cache/apt/*,var/lib/apt/lists/*}
  echo "$packages ${services[*]}" >"$work/root/made-for"
  rm -rf "$target"
  mv "$work/root" "$target"
  drop_work "$suite"
}

begin_debian "other releases for the tests of packages" "$1"
for suite in "${suites[@]}"; do lay_out "${suite%%:*}" "${suite#*:}"; done
end_debian
