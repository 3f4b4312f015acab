#!/usr/bin/env bash
# The Ansible role, on a copy of this machine's files that is gone afterwards: what it lays out, that a second run changes
# nothing, and that a configuration that is wrong is told and does not take the place of the one of before. Nothing is
# started. Where there is no ansible-playbook it skips; install it for this test (package ansible-core).
#
#   test_ansible.sh BUILD_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
project=$(cd "$here/../.." && pwd)

inside() { # FOLDER ARCHIVE: in the mount namespace
  local root=$1/root
  copy_of_this_machine "$1"
  mount -t devtmpfs devtmpfs "$root/dev" 2>/dev/null || mount --rbind /dev "$root/dev"
  cp -r "$project/packaging/ansible" "$root/role"
  cp "$2" "$root/"
  chroot "$root" /bin/bash -euo pipefail -s "$(command -v ansible-playbook)" "/${2##*/}" <<'CHROOT'
fail() { echo "FAILED: $*" >&2; exit 1; }
export ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_NOCOLOR=1 LC_ALL=C.UTF-8 HOME=/role
program=$1 archive=$2
play() { # EXTRA_VARIABLES...
  "$program" -i localhost, --connection=local /role/site.yml -e "ioc_exporter_archive=$archive" \
    -e ioc_exporter_enabled=false -e ansible_python_interpreter=/usr/bin/python3 -e "ioc_exporter_archive_sha256=$(sha256sum "$archive" | cut -d ' ' -f 1)" "$@" 2>&1
}
good='{"ioc_exporter_config": {"pvs": {"expire": "7d"}}, "ioc_exporter_web_config": {"rate_limit": {"interval": "1s", "burst": 20}}}'
said=$(play -e "$good") || fail "the first run: $said"
/usr/local/sbin/ioc_exporter --version >/dev/null
. /etc/default/ioc_exporter
[ "$IOC_EXPORTER_OPTIONS" = "--config.file=/etc/ioc_exporter/config.yml --web.config.file=/etc/ioc_exporter/web.yml --web.listen-address=127.0.0.1:10064" ] ||
  fail "options: $IOC_EXPORTER_OPTIONS"
[ "$(stat -c '%U %a' /etc/ioc_exporter/web.yml)" = "root 600" ] || fail "who may read the passwords"
/usr/local/sbin/ioc_exporter --config.file=/etc/ioc_exporter/config.yml --web.config.file=/etc/ioc_exporter/web.yml --config.check >/dev/null
grep -q '^ExecStart=/usr/local/sbin/ioc_exporter ' /etc/systemd/system/ioc_exporter.service || fail "the unit"
getent passwd ioc_exporter >/dev/null || fail "no user"
said=$(play -e "$good") || fail "the second run: $said"
grep -q 'changed=0 ' <<<"$said" || fail "the second run changes something: $said"
! said=$(play -e '{"ioc_exporter_config": {"pvz": {}}}') || fail "a wrong configuration is taken"
grep -q 'pvz: no such key' <<<"$said" || fail "what is wrong is not told: $said"
grep -q 'expire: 7d' /etc/ioc_exporter/config.yml || fail "the wrong one has taken its place"
! said=$(play -e ioc_exporter_archive_sha256=0000) || fail "another archive is taken"
CHROOT
}
if [ "${1:-}" = inside ]; then
  shift
  inside "$@"
  exit
fi

build=$1
command -v ansible-playbook >/dev/null || skip "ansible-playbook (package ansible-core) is not installed"
[ -x "$build/ioc_exporter_static" ] || skip "there is no static binary: it needs -DIOC_EXPORTER_STATIC=ON"
[ "$(id -u)" -eq 0 ] || skip "only root can make a copy of this machine's files"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$project/scripts/make-release.sh" --build "$build" "$folder/dist" >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
unshare --mount --propagation private "$0" inside "$(mktemp -d -p "$folder")" "$(echo "$folder"/dist/*.linux-*.tar.gz)"
