#!/usr/bin/env bash
# The RPM package: what is in it, its scripts, its requirements; and that it is installed, takes the place of version 0.1.0 (the
# present package with that number), works, and is removed: by rpm 4.16, which RHEL 9 has, in Debian 11 where test.sh has laid
# that out, else by this machine's on a copy of its files. The database is its own, so that nothing tells what it requires.
#
#   test_rpm.sh BUILD_DIR ROOTS_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
inside() { # FOLDER ROOT PACKAGE OLDER_PACKAGE: in the namespaces
  local root=$1/root
  ip link set lo up
  copy_of "$2" "$1"
  cp "$3" "$root/package.rpm"
  cp "$4" "$root/older.rpm"
  cp "$here/inside.sh" "$root/"
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /bin/bash -euo pipefail <<'CHROOT'
. /inside.sh
rpm() { command rpm --dbpath /rpmdb "$@"; }
rpm --initdb
before=$(files)
rpm -i --nodeps /older.rpm
getent passwd ioc_exporter >/dev/null || fail "no user"
mkdir -p /var/lib/ioc_exporter
kept=(/etc/default/ioc_exporter /etc/ioc_exporter/ioc_exporter.yml /etc/ioc_exporter/web.yml /var/lib/ioc_exporter/channels)
for file in "${kept[@]}"; do echo '#IOC_EXPORTER_OPTIONS="--log.level=debug"' >"$file"; done
sums=$(sha256sum "${kept[@]}")
[ "$(rpm -q --qf '%{VERSION}' ioc-exporter)" = 0.1.0 ] || fail "not the older version"
serves /usr/sbin/ioc_exporter
rpm -U --nodeps /package.rpm
[ "$(rpm -q --qf '%{VERSION}' ioc-exporter)" != 0.1.0 ] || fail "the version is the older one"
sha256sum --check --quiet <<<"$sums" || fail "the upgrade touched what is not the package's"
serves /usr/sbin/ioc_exporter
grep -q '^ExecStart=/usr/sbin/ioc_exporter ' /usr/lib/systemd/system/ioc_exporter.service || fail "the unit"
rpm -V --nodeps ioc-exporter | grep -v -e /etc/default/ioc_exporter -e /etc/ioc_exporter/ioc_exporter.yml && fail "rpm -V"
rpm -e --nodeps ioc-exporter
[ ! -e /usr/sbin/ioc_exporter ] || fail "the program was left behind"
[ -e /etc/ioc_exporter/web.yml ] || fail "removing it lost the configuration"
rm -r /etc/ioc_exporter /etc/default/ioc_exporter* /var/lib/ioc_exporter
[ "$before" = "$(files)" ] || fail "left behind: $(diff <(echo "$before") <(files))"
CHROOT
}
if [ "${1:-}" = inside ]; then
  shift
  inside "$@"
  exit
fi

build=$1 roots=${2:-}
command -v rpmbuild >/dev/null || skip "rpmbuild (package rpm) is not installed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make_package "$build" RPM "$folder"
package=$(echo "$folder"/*.rpm)
content=$(rpm -qpl "$package")
for file in /usr/sbin/ioc_exporter /usr/lib/systemd/system/ioc_exporter.service /etc/default/ioc_exporter \
  /usr/share/man/man8/ioc_exporter.8.gz; do
  grep -qxF "$file" <<<"$content" || fail "$file is not in the package: $content"
done
! grep -qxE '/etc|/usr|/usr/sbin|/usr/share/man|/usr/lib/systemd' <<<"$content" || fail "it owns the system's folders"
is "configuration files" $'/etc/default/ioc_exporter\n/etc/ioc_exporter/ioc_exporter.yml' "$(rpm -qpc "$package")"
scripts=$(rpm -qp --scripts "$package")
for part in "useradd --system" "systemctl disable --now"; do holds "$scripts" "$part"; done
if [ -x "$build/ioc_exporter_static" ]; then
  is "what the package with the static binary needs" "/bin/sh rtld(GNU_HASH) shadow-utils" \
    "$(rpm -qpR "$package" | grep -Ev '^(rpmlib|config)\(' | sort -u | xargs)" # any glibc provides the second
else
  holds "$(rpm -qpR "$package")" libbpf.so
fi
[ "$(id -u)" -eq 0 ] || skip "only root can install the package (its content is as it should be)"
# The same as an older version, with no more in it than rpm's own part takes.
mkdir "$folder/older"
make_package "$build" RPM "$folder/older" -D CPACK_PACKAGE_VERSION=0.1.0 -D CPACK_RPM_COMPRESSION_TYPE=gzip
root=/
[ ! -x "$build/ioc_exporter_static" ] || [ ! -x "$roots/bullseye/usr/bin/rpm" ] || root=$roots/bullseye
unshare --mount --net --propagation private "$0" inside "$(mktemp -d -p "$folder")" "$root" "$package" \
  "$(echo "$folder"/older/*.rpm)"
