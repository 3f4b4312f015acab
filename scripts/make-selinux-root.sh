#!/usr/bin/env bash
# Lays out this release of Debian with its SELinux policy, and with what builds a policy module, once, from this host's own
# Debian mirror, for the test of the packages' module:
#
#   scripts/make-selinux-root.sh DIRECTORY
#
#   DIRECTORY/root/    to chroot into; SELinux's tools need no kernel with SELinux there
#
# Nothing is installed on the host. Where that is not Debian the directory stays empty, and the test skips and says so. It
# needs root.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

[ $# -eq 1 ] || die "usage: scripts/make-selinux-root.sh DIRECTORY"
begin_debian "SELinux policy for the tests in virtual machines" "$1"
[ ! -e "$directory/root" ] || exit 0
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

say "the SELinux policy of $suite for the tests in virtual machines (some minutes)"
update "$suite"
# Alone: to build a module with it takes few of the packages that it depends on.
download "$suite" selinux-policy-dev
mmdebstrap --mode=root --variant=essential --quiet \
  --include=policycoreutils,selinux-policy-default,semodule-utils,checkpolicy,make,m4 \
  "$suite" "$work/root" "deb [signed-by=$keyring] $uri $suite main" || die "make the root with SELinux's policy: see above"
dpkg-deb -x "$work"/selinux-policy-dev_*.deb "$work/root"
rm -rf "$work"/root/usr/share/{doc,locale,man} "$work"/root/var/{cache,lib}/apt
mv "$work/root" "$directory/root"
drop_work "$suite"
end_debian
