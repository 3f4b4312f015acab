#!/usr/bin/env bash
# The release: what is in the archive, that it comes out the same twice, and that its one file runs where there is
# nothing else, and where there are the C libraries and name services of other releases of Debian, without touching them.
#
#   test_release.sh BUILD_DIR ROOTS_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"

# runs_in ROOT: the file, as /ioc_exporter there, in a mount and a network namespace of its own.
runs_in() {
  local root=$1 log=$1/log pid i user=()
  ip link set lo up
  mkdir -p "$root/proc" "$root/sys"
  mount --rbind /proc "$root/proc"
  mount --rbind /sys "$root/sys"
  local listen=(--web.listen-address=127.0.0.1:0 "--web.listen-address=[::1]:0")
  if [ -d "$root/etc" ]; then # names to find, and services that would find them by modules of the host's
    printf 'root:x:0:0::/:/\nmeter:x:4711:4711::/:/\n' >"$root/etc/passwd"
    printf '127.0.0.1 localhost the-ioc-host\n' >"$root/etc/hosts"
    printf 'passwd: systemd files\ngroup: systemd files\nhosts: myhostname resolve files dns\n' >"$root/etc/nsswitch.conf"
    # The kernel's part is the same in each.
    user=(--security.user=meter --no-collector.records) listen+=(--web.listen-address=the-ioc-host:0)
  fi
  holds "$(chroot "$root" /ioc_exporter --version)" "TLS by OpenSSL"
  : >"$log"
  chroot "$root" /ioc_exporter --strict --ioc.include=none "${user[@]}" "${listen[@]}" 2>"$log" &
  pid=$!
  for ((i = 0; i < 600; i++)); do
    [ "$(grep -c "listening on" "$log")" -lt ${#listen[@]} ] || break
    kill -0 $pid 2>/dev/null || fail "$root: it has ended: $(cat "$log")"
    sleep 0.1
  done
  [ "$(grep -c "listening on" "$log")" -eq ${#listen[@]} ] || fail "$root: it does not listen: $(cat "$log")"
  [ ${#user[@]} -eq 0 ] || grep -q "runs as user meter" "$log" || fail "$root: it is not meter: $(cat "$log")"
  ! grep -E '\.so(\.|$)' /proc/$pid/maps || fail "$root: it has loaded libraries of the host's"
  local port
  while read -r port; do
    exec 3<>"/dev/tcp/$port"
    printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    grep -q '^ioc_exporter_build_info' <&3 || fail "$root: nothing on port $port"
    exec 3<&-
  done < <(sed -En 's#.*listening on (\[::1\]|[a-z0-9.-]+):([0-9]+).*#\1/\2#p' "$log" | sed 's#^\[::1\]#::1#; s#^the-ioc-host#127.0.0.1#')
  kill -TERM $pid
  wait $pid || fail "$root: it ends with status $?: $(cat "$log")"
}
if [ "${1:-}" = inside ]; then
  shift
  runs_in "$@"
  exit
fi

build=$1 roots=${2:-}
[ -x "$build/ioc_exporter_static" ] || skip "there is no static binary: it needs -DIOC_EXPORTER_STATIC=ON"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project=$(cd "$here/../.." && pwd)
for once in first second; do
  "$project/scripts/make-release.sh" --build "$build" "$work/$once" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
done
archive=$(echo "$work"/first/*.tar.gz)
cmp "$archive" "$work/second/${archive##*/}" || fail "the same build makes two archives"
(cd "$work/first" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS beside the archive"
tar -xf "$archive" -C "$work"
top=$work/$(basename "$archive" .tar.gz)
(cd "$top" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS in the archive"
for file in ioc_exporter ioc_exporter.service ioc_exporter.8 README.md LICENSE alerts/puts.yml dashboards/puts.json \
  docs/operating.md docs/runbooks/EpicsIocDown.md licences/libssl-dev licences/civetweb licences/libc6-dev; do
  [ -s "$top/$file" ] || fail "$file is not in the archive"
done
# Static, position-independent, and of no particular place.
headers=$(readelf --wide --program-headers --dynamic "$top/ioc_exporter")
! grep -E 'INTERP|NEEDED' <<<"$headers" || fail "the file needs others"
holds "$(readelf -h "$top/ioc_exporter")" "DYN (Position-Independent Executable"
! grep -aF "$project" "$top/ioc_exporter" >/dev/null || fail "the file names the folder that it was built in"
[ "$(id -u)" -eq 0 ] || skip "only root can run it in other roots (the archive is as it should be)"

runs() { # NAME ROOT
  cp "$top/ioc_exporter" "$2/ioc_exporter"
  unshare --mount --net --propagation private "$0" inside "$2" || fail "it does not run in $1"
  echo "runs in $1"
}
mkdir "$work/bare"
runs "an empty root" "$work/bare"
known=0
for root in "$roots"/*/; do
  [ -d "$root/usr" ] || continue
  cp -r "$root" "$work/$(basename "$root")"
  runs "Debian $(basename "$root")" "$work/$(basename "$root")"
  known=$((known + 1))
done
[ $known -gt 0 ] || skip "there are no roots of other releases (scripts/make-release-roots.sh); in an empty one it runs"
