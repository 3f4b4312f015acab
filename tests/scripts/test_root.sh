#!/usr/bin/env bash
# Where run.sh and scripts/install-deps.sh ask for root: sudo, else doas, else they say what is missing. Who is
# asked, and who the user is, are stubs; so is all that would install or build something.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
project=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/checkout/scripts" "$work/plain" "$work/sudo" "$work/doas" "$work/apt"
cp "$project/run.sh" "$work/checkout"
cp "$project"/scripts/{lib,progress}.sh "$work/checkout/scripts"

stub() { # FILE TEXT
  cat >"$1"
  chmod +x "$1"
}
stub "$work/checkout/scripts/install-deps.sh" <<'STUB'
#!/bin/sh
echo "uid $(id -u) installs $*" >>"$LOG"
exit 7
STUB
stub "$work/plain/id" <<'STUB'
#!/bin/sh
echo "$PRETENDED_UID"
STUB
for tool in sudo doas; do
  stub "$work/$tool/$tool" <<'STUB'
#!/bin/sh
echo "${0##*/} $*" >>"$LOG"
PRETENDED_UID=0 exec "$@"
STUB
done
stub "$work/apt/apt-get" <<'STUB'
#!/bin/sh
echo "uid $(id -u) apt-get $*" >>"$LOG"
STUB
stub "$work/apt/dpkg-query" <<'STUB'
#!/bin/sh
echo "$PRETENDED_STATE"
STUB
stub "$work/apt/apt-cache" <<'STUB'
#!/bin/sh
printf 'Package: %s\nFilename: pool\n' "$2"
STUB
# Not where this host has a sudo.
for program in bash sh env dirname sed grep awk cat mktemp rm sleep tail sort true; do
  ln -s "$(type -P $program)" "$work/plain/$program"
done

# calls STATUS UID TOOL COMMAND...: what the stubs have noted; what it says is in $work/said.
calls() {
  local expected=$1 uid=$2 tool=$3 status=0
  shift 3
  : >"$work/log"
  env -u SUDO_UID -u DOAS_USER "PATH=$work/apt:$work/$tool:$work/plain" "LOG=$work/log" "PRETENDED_UID=$uid" \
    "PRETENDED_STATE=${state:-installed}" "$@" >"$work/said" 2>&1 || status=$?
  is "the status of $*: $(cat "$work/said")" "$expected" "$status"
  noted=$(sed "s|$work/checkout|.|g" "$work/log")
}
run=$work/checkout/run.sh
for tool in sudo doas; do
  calls 7 1000 $tool "$run" --port 64001 -- --log.level=debug
  is "a user's run.sh" "$tool ./run.sh --port 64001 -- --log.level=debug
uid 0 installs build" "$noted"
done
calls 7 0 plain "$run" --port 64001
is "root's run.sh" "uid 0 installs build" "$noted"
calls 1 1000 plain "$run"
is "a user's run.sh without sudo and doas" "" "$noted"
holds "$(cat "$work/said")" "neither sudo nor doas"

install=$project/scripts/install-deps.sh
calls 0 1000 plain "$install" vm-arm64
is "nothing is missing" "" "$noted"
state=missing
calls 0 1000 doas "$install" vm-arm64
holds "$noted" "uid 0 apt-get"
holds "$noted" "install -y --no-install-recommends qemu-system-arm"
calls 1 1000 plain "$install" vm-arm64
is "without sudo and doas" "" "$noted"
holds "$(cat "$work/said")" "installing packages needs root, and there is neither sudo nor doas"

is "the user of doas" 61150 "$(env -u SUDO_UID DOAS_USER=anna PRETENDED_UID=61150 "PATH=$work/plain" \
  bash -c '. "$0"; echo "$SUDO_UID"' "$project/scripts/lib.sh")"
