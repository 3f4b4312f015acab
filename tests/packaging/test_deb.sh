#!/usr/bin/env bash
# The Debian package: what is in it, and that it takes the place of version 0.1.0 without touching what is the operator's,
# works, is removed and purged: on copies of this machine's files and of other releases of Debian (overlays in a mount namespace
# of their own) that are gone afterwards. Version 0.1.0 is the present package with that number: the options file and the scripts
# of the package have not changed since.
#
#   test_deb.sh BUILD_DIR ROOTS_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"

inside() { # FOLDER ROOT PACKAGE OLDER_PACKAGE: in the namespaces
  local folder=$1 root=$1/root
  ip link set lo up
  copy_of "$2" "$folder"
  cp "$3" "$root/package.deb"
  cp "$4" "$root/older.deb"
  cp "$here/inside.sh" "$root/"
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /bin/bash -euo pipefail <<'CHROOT'
. /inside.sh
name=ioc-exporter
before=$(files)
# State of the operator, the exporter and the kernel that outlives an upgrade.
dpkg -i /older.deb
version() { dpkg-query -W -f '${Version}' $name; }
[ "$(version)" = 0.1.0 ] || fail "not the older version: $(version)"
mkdir -p /var/lib/ioc_exporter
kept=(/etc/default/ioc_exporter /etc/ioc_exporter/ioc_exporter.yml /etc/ioc_exporter/web.yml /var/lib/ioc_exporter/channels)
for file in "${kept[@]}"; do echo '#IOC_EXPORTER_OPTIONS="--log.level=debug"' >"$file"; done
sums=$(sha256sum "${kept[@]}")
serves /usr/sbin/ioc_exporter
dpkg -i /package.deb </dev/null || fail "the upgrade asks, or fails"
[ "$(version)" != 0.1.0 ] || fail "the version is the older one"
sha256sum --check --quiet <<<"$sums" || fail "the upgrade touched what is not the package's"
/usr/sbin/ioc_exporter --config.file=/etc/ioc_exporter/ioc_exporter.yml --config.check >/dev/null || fail "the configuration of before"
[ "$(dpkg-query -W -f '${db:Status-Status}' $name)" = installed ] || fail "not installed"
getent passwd ioc_exporter >/dev/null || fail "postinst made no user"
serves /usr/sbin/ioc_exporter
if command -v man >/dev/null; then
  text=$(MANWIDTH=100 man -P cat ioc_exporter 2>&1) || fail "man: $text"
  grep -q -e --security.capabilities <<<"$text" || fail "the manual page has no --security.capabilities"
fi
grep -q '^complete .* ioc_exporter$' /usr/share/bash-completion/completions/ioc_exporter || fail "no completion"
unit=/usr/lib/systemd/system/ioc_exporter.service
grep -q '^ExecStart=/usr/sbin/ioc_exporter ' $unit || fail "the unit does not name the program"
if command -v systemd-analyze >/dev/null; then
  said=$(systemd-analyze verify $unit 2>&1) || fail "systemd-analyze verify: $said"
  [ -z "$said" ] || fail "systemd-analyze verify: $said"
fi
dpkg -r $name
grep -q debug /etc/default/ioc_exporter || fail "removing it lost the options"
[ ! -e /usr/sbin/ioc_exporter ] || fail "the program was left behind"
[ -e /etc/ioc_exporter/ioc_exporter.yml ] && [ -e /var/lib/ioc_exporter/channels ] || fail "removing it lost what is not its own"
rm /etc/ioc_exporter/*.yml
dpkg -P $name
[ ! -e /var/lib/ioc_exporter ] || fail "purge left the state"
! getent passwd ioc_exporter >/dev/null || fail "purge left the user"
after=$(files)
[ "$before" = "$after" ] || fail "left behind: $(diff <(echo "$before") <(echo "$after"))"
! dpkg-query -W $name 2>/dev/null || fail "dpkg still knows it"
CHROOT
}
if [ "${1:-}" = inside ]; then
  shift
  inside "$@"
  exit
fi

build=$1 roots=${2:-}
command -v dpkg-shlibdeps >/dev/null || skip "dpkg-shlibdeps (package dpkg-dev) is not installed"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make_package "$build" DEB "$folder"
package=$(echo "$folder"/*.deb)
content=$(dpkg-deb -c "$package" | awk '{print $6}')
for file in ./usr/sbin/ioc_exporter ./usr/lib/systemd/system/ioc_exporter.service ./etc/default/ioc_exporter \
  ./usr/share/man/man8/ioc_exporter.8.gz ./usr/share/bash-completion/completions/ioc_exporter \
  ./usr/share/doc/ioc-exporter/copyright ./usr/share/doc/ioc-exporter/changelog.gz ./etc/ioc_exporter/ \
  ./usr/share/doc/ioc-exporter/configuration.md ./usr/share/doc/ioc-exporter/README.md ./usr/lib/sysusers.d/ioc_exporter.conf; do
  grep -qxF "$file" <<<"$content" || fail "$file is not in the package: $content"
done
is "owners in the package" "root/root" "$(dpkg-deb -c "$package" | awk '{print $2}' | sort -u)"
if [ -x "$build/ioc_exporter_static" ]; then
  is "what the package with the static binary needs" passwd "$(dpkg-deb -f "$package" Depends)"
else
  holds "$(dpkg-deb -f "$package" Depends)" libbpf
fi
if command -v lintian >/dev/null; then
  said=$(lintian --allow-root --fail-on error "$package" 2>&1) || fail "lintian: $said"
else
  echo "lintian is not installed: it was not asked"
fi
dpkg-deb -x "$package" "$folder/content"
is "dead links in the package" "" "$(dead_links "$folder/content/usr/share/doc/ioc-exporter")"
is conffiles $'/etc/default/ioc_exporter\n/etc/ioc_exporter/ioc_exporter.yml' "$(dpkg-deb -I "$package" conffiles)"
[ "$(id -u)" -eq 0 ] || skip "only root can install the package (its content is as it should be)"
# The same as an older version.
dpkg-deb --raw-extract "$package" "$folder/older"
sed -i 's/^Version: .*/Version: 0.1.0/' "$folder/older/DEBIAN/control"
dpkg-deb --build --root-owner-group -Zgzip -z1 "$folder/older" >/dev/null
installs() { # WHERE ROOT
  local log=$folder/log
  unshare --mount --net --propagation private "$0" inside "$(mktemp -d -p "$folder")" "$2" "$package" "$folder/older.deb" \
    >"$log" 2>&1 || { cat "$log" && fail "$1: see above"; }
  echo "installed, upgraded, removed, purged: $1"
}
installs "this machine" /
[ -x "$build/ioc_exporter_static" ] || skip "there is no static binary for other releases of Debian; on this machine it installs"
known=0
for root in "$roots"/*/; do
  [ -e "$root/made-for" ] || continue
  installs "Debian $(basename "$root")" "$root"
  known=$((known + 1))
done
[ $known -gt 0 ] || skip "there are no roots of other releases (scripts/make-release-roots.sh); on this machine it installs"
