#!/usr/bin/env bash
# The RPM package, as far as it can be checked where there is no RPM system: what is in it, its scripts, its
# requirements.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
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
for part in "useradd --system" "systemctl disable --now" "rm -rf /sys/fs/bpf/ioc_exporter"; do holds "$scripts" "$part"; done
if [ -x "$build/ioc_exporter_static" ]; then
  ! rpm -qpR "$package" | grep -F .so || fail "the package with the static binary needs libraries"
else
  holds "$(rpm -qpR "$package")" libbpf.so
fi
