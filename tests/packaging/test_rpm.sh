#!/usr/bin/env bash
# The RPM package: what is in it, its scripts, its requirements; and that it is installed, takes the place of an older one,
# and is removed, by rpm with a database of its own on a copy of this machine's files, where nothing tells what it requires.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
inside() { # FOLDER PACKAGE OLDER_PACKAGE: in the mount namespace
  local root=$1/root
  copy_of_this_machine "$1"
  cp "$2" "$root/package.rpm"
  cp "$3" "$root/older.rpm"
  chroot "$root" /bin/bash -euo pipefail <<'CHROOT'
fail() { echo "FAILED: $*" >&2; exit 1; }
files() { find /usr /etc -xdev \( -name '*ioc_exporter*' -o -name '*ioc-exporter*' \) | sort; }
rpm() { command rpm --dbpath /rpmdb "$@"; }
rpm --initdb
before=$(files)
rpm -i --nodeps /older.rpm
getent passwd ioc_exporter >/dev/null || fail "no user"
mkdir -p /var/lib/ioc_exporter
kept=(/etc/default/ioc_exporter /etc/ioc_exporter/config.yml /var/lib/ioc_exporter/habits.1)
for file in "${kept[@]}"; do echo '#IOC_EXPORTER_OPTIONS="--log.level=debug"' >"$file"; done
sums=$(sha256sum "${kept[@]}")
rpm -U --nodeps /package.rpm
[ "$(rpm -q --qf '%{VERSION}' ioc-exporter)" != 0.0.9 ] || fail "the version is the older one"
sha256sum --check --quiet <<<"$sums" || fail "the upgrade touched what is not the package's"
said=$(/usr/sbin/ioc_exporter --version) || fail "the program does not start"
grep -q '^ioc_exporter ' <<<"$said" || fail "--version says: $said"
grep -q '^ExecStart=/usr/sbin/ioc_exporter ' /usr/lib/systemd/system/ioc_exporter.service || fail "the unit"
rpm -V --nodeps ioc-exporter | grep -v /etc/default/ioc_exporter && fail "rpm -V"
rpm -e --nodeps ioc-exporter
[ ! -e /usr/sbin/ioc_exporter ] || fail "the program was left behind"
[ -e /etc/ioc_exporter/config.yml ] || fail "removing it lost the configuration"
rm -r /etc/ioc_exporter /etc/default/ioc_exporter*
[ "$before" = "$(files)" ] || fail "left behind: $(diff <(echo "$before") <(files))"
CHROOT
}
if [ "${1:-}" = inside ]; then
  shift
  inside "$@"
  exit
fi

build=$1
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
is "configuration files" /etc/default/ioc_exporter "$(rpm -qpc "$package")"
scripts=$(rpm -qp --scripts "$package")
for part in "useradd --system" "systemctl disable --now"; do holds "$scripts" "$part"; done
if [ -x "$build/ioc_exporter_static" ]; then
  ! rpm -qpR "$package" | grep -F .so || fail "the package with the static binary needs libraries"
else
  holds "$(rpm -qpR "$package")" libbpf.so
fi
[ "$(id -u)" -eq 0 ] || skip "only root can install the package (its content is as it should be)"
# The same as an older version, with no more in it than rpm's own part takes.
mkdir "$folder/older"
make_package "$build" RPM "$folder/older" -D CPACK_PACKAGE_VERSION=0.0.9 -D CPACK_RPM_COMPRESSION_TYPE=gzip
unshare --mount --propagation private "$0" inside "$(mktemp -d -p "$folder")" "$package" "$(echo "$folder"/older/*.rpm)"
