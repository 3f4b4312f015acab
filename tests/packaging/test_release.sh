#!/usr/bin/env bash
# The release: its files, what is in the archive, that all comes out the same twice, that its sums are signed, and that its one
# file runs where there is nothing else, and where there are the C libraries and name services of other releases of Debian,
# without touching them.
#
#   test_release.sh BUILD_DIR ROOTS_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"

# runs_in ROOT FOLDER FILE: the file, as /ioc_exporter in a copy of ROOT, in a mount and a network namespace of its own.
runs_in() {
  local root=$2/root log=$2/log pid i user=()
  ip link set lo up
  copy_of "$1" "$2"
  umount -l "$root/dev" # it needs none
  cp "$3" "$root/ioc_exporter"
  local listen=(--web.listen-address=127.0.0.1:0 "--web.listen-address=[::1]:0")
  if [ -d "$root/etc" ]; then # names to find, and services that would find them by modules of the host's
    printf 'root:x:0:0::/:/\nmeter:x:4711:4711::/:/\n' >"$root/etc/passwd"
    printf '127.0.0.1 localhost the-ioc-host\n' >"$root/etc/hosts"
    printf 'passwd: systemd files\ngroup: systemd files\nhosts: myhostname resolve files dns\n' >"$root/etc/nsswitch.conf"
    # The kernel's part is the same in each.
    user=(--security.user=meter --no-collector.records) listen+=(--web.listen-address=the-ioc-host:0)
  fi
  local said answer version revision
  said=$(chroot "$root" /ioc_exporter --version)
  holds "$said" "TLS by OpenSSL"
  [[ $said =~ ^ioc_exporter\ ([^ ]+)\ \(revision\ ([^,]+), ]] || fail "--version says: $said"
  version=${BASH_REMATCH[1]} revision=${BASH_REMATCH[2]}
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
    answer=$(cat <&3)
    exec 3<&-
    holds "$answer" $'\n'"ioc_exporter_build_info{version=\"$version\",revision=\"$revision\","
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
export GNUPGHOME=$work/keys
mkdir -m 700 "$GNUPGHOME"
trap 'gpgconf --kill all; rm -rf "$work"' EXIT
gpg --batch --quiet --passphrase '' --quick-generate-key release@site.invalid ed25519 sign never 2>"$work/log" || fail "$(cat "$work/log")"
makes() { "$project/scripts/make-release.sh" --build "$build" "$@" >"$work/log" 2>&1; }
! makes --sign nobody@site.invalid "$work/first" || fail "it signs with a key that is not there"
holds "$(cat "$work/log")" "sign the release with nobody@site.invalid"
makes --sign release@site.invalid "$work/first" || fail "$(cat "$work/log")"
makes "$work/second" || fail "$(cat "$work/log")"
diff "$work/first" "$work/second" >"$work/differ" || true
is "what the same build makes differently" "Only in $work/first: SHA256SUMS.asc" "$(cat "$work/differ")"
gpg --batch --quiet --verify "$work/first/SHA256SUMS.asc" "$work/first/SHA256SUMS" 2>"$work/log" || fail "$(cat "$work/log")"
sed 's/^./0/; s/^00/01/' "$work/first/SHA256SUMS" >"$work/changed"
! gpg --batch --quiet --verify "$work/first/SHA256SUMS.asc" "$work/changed" 2>/dev/null || fail "the signature fits other sums"
archive=$(echo "$work"/first/*.linux-*.tar.gz)
cmp "$archive" "$work/second/${archive##*/}" || fail "the same build makes two archives"
(cd "$work/first" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS beside the archive"
tar -xf "$archive" -C "$work"
name=$(basename "$archive" .tar.gz)
top=$work/$name
version=${name#ioc_exporter-} version=${version%.linux-*}
case $(uname -m) in x86_64) arch=amd64 rpm=x86_64 ;; *) arch=arm64 rpm=$(uname -m) ;; esac
for file in "$name.oci.tar" "$name.spdx.json" "ioc_exporter-$version.mixin.tar.gz" \
  "ioc_exporter-$version.prometheusrule.yaml" "ioc-exporter_*_$arch.deb" "ioc-exporter-*.$rpm.rpm"; do
  compgen -G "$work/first/$file" >/dev/null || fail "$file is not made: $(ls "$work/first")"
done
is "files without a sum" "" "$(comm -3 <(cut -c 67- "$work/first/SHA256SUMS" | sort) <(cd "$work/second" && ls | grep -v SHA256SUMS | sort))"
(cd "$top" && sha256sum --check --quiet SHA256SUMS) || fail "SHA256SUMS in the archive"
for file in ioc_exporter ioc_exporter.service ioc_exporter.8 README.md LICENSE alerts/puts.yml dashboards/puts.json \
  docs/operating.md docs/runbooks/EpicsIocDown.md licences/libssl-dev licences/civetweb licences/libc6-dev; do
  [ -s "$top/$file" ] || fail "$file is not in the archive"
done
# Documents, here and in an example that has one.
mkdir "$work/example"
echo "[one](nowhere.md#x) and [another](..) and [a third](https://site.invalid/x)" >"$work/example/README.md"
is "the example's dead links" "$work/example/README.md: nowhere.md" "$(dead_links "$work/example")"
is "dead links in the archive" "" "$(dead_links "$top")"
# The image's name in what runs it, and the rules as an object of the Prometheus Operator.
mkdir "$work/mixin"
for file in "$top"/packaging/{compose/compose.yml,kubernetes/daemonset.yaml}; do
  holds "$(cat "$file")" "image: localhost/ioc_exporter:${version//+/_}"
done
rules=$work/first/ioc_exporter-$version.prometheusrule.yaml
holds "$(cat "$rules")" $'apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: ioc-exporter\n'
sed '1,/^spec:$/d' "$rules" | sed 's/^  //' >"$work/rules.yml"
is "groups in its rules" "$(cat "$project"/alerts/*.yml | grep -c '^- name: ')" "$(grep -c '^  - name: ' "$work/rules.yml")"
! command -v promtool >/dev/null || promtool check rules "$work/rules.yml" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
tar -xf "$work/first/ioc_exporter-$version.mixin.tar.gz" -C "$work/mixin"
[ -s "$work/mixin/ioc_exporter-$version.mixin/mixin/mixin.libsonnet" ] || fail "the mixin's archive: $(find "$work/mixin")"
python3 "$here/check_sbom.py" "$work/first/$name.spdx.json" "$top/ioc_exporter" "$project/third_party/sources.txt" ||
  fail "the bill of materials: see above"
# Static, position-independent, and of no particular place.
headers=$(readelf --wide --program-headers --dynamic "$top/ioc_exporter")
! grep -E 'INTERP|NEEDED' <<<"$headers" || fail "the file needs others"
holds "$(readelf -h "$top/ioc_exporter")" "DYN (Position-Independent Executable"
! grep -aF "$project" "$top/ioc_exporter" >/dev/null || fail "the file names the folder that it was built in"
[ "$(id -u)" -eq 0 ] || skip "only root can run it in other roots (the archive is as it should be)"

runs() { # NAME ROOT
  unshare --mount --net --propagation private "$0" inside "$2" "$(mktemp -d -p "$work")" "$top/ioc_exporter" || fail "it does not run in $1"
  echo "runs in $1"
}
mkdir "$work/bare"
runs "an empty root" "$work/bare"
known=0
for root in "$roots"/*/; do
  [ -d "$root/usr" ] || continue
  runs "Debian $(basename "$root")" "$root"
  known=$((known + 1))
done
[ $known -gt 0 ] || skip "there are no roots of other releases (scripts/make-release-roots.sh); in an empty one it runs"
