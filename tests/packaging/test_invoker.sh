#!/usr/bin/env bash
# scripts/lib.sh: what root is asked to build by sudo is built as the user who called it, and is his, with what root left
# there before; without sudo by whoever it is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
# Only root may be able to enter the folder of the checkout.
cp -R "$here/../../scripts" "$work/scripts"
chmod -R a+rX "$work/scripts"
cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(who NONE)
execute_process(COMMAND id -u OUTPUT_FILE ${CMAKE_BINARY_DIR}/configured)
add_custom_target(who ALL COMMAND id -u > built)
CMAKE

builds() { # AS_UID VARIABLE=VALUE...: in a shell of its own, since what fails ends it
  local expected=$1
  shift
  (cd "$work" && env "$@" bash -c 'set -euo pipefail; . "$0"; configure build/one "-DWHO=$1"; build_targets build/one who' \
    scripts/lib.sh "$expected") >"$work/log" 2>&1 || fail "$* builds nothing: $(cat "$work/log")"
  is "who configured with $*" "$expected" "$(cat "$work/build/one/configured")"
  is "who built with $*" "$expected" "$(cat "$work/build/one/built")"
  is "whose it is with $*" "$expected" "$(find "$work/build" -printf '%U\n' | sort -u)"
}
builds 0 SUDO_UID= SUDO_GID=
builds 0 SUDO_UID=0 SUDO_GID=0
echo mine >"$work/of-root"
ln -sf "$work/of-root" "$work/build/one/build.log"
builds 61150 SUDO_UID=61150 SUDO_GID=61150 # after root
is "what a link in his folder leads to" mine "$(cat "$work/of-root")"
