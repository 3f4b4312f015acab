#!/usr/bin/env bash
# scripts/lib.sh: a checkout that was moved or copied with its build folder builds anew there, and says so.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/first"
cat >"$work/first/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(made NONE)
add_custom_target(made ALL COMMAND pwd > made)
CMAKE

builds_in() { # CHECKOUT: what is said
  (cd "$work/$1" && env -u SUDO_UID -u DOAS_USER bash -c 'set -euo pipefail; . "$0"; configure_and_build build/one' \
    "$here/../../scripts/lib.sh") 2>&1 || fail "it does not build in $1"
}
anew() { # CHECKOUT OLD_CHECKOUT
  touch "$work/$1/build/one/old"
  holds "$(builds_in "$1")" "build/one/ was made as $work/$2/build/one: it is made anew"
  is "where it was built" "$work/$1/build/one" "$(cat "$work/$1/build/one/made")"
  [ ! -e "$work/$1/build/one/old" ] || fail "the old folder is still there"
}
builds_in first >"$work/log"
touch "$work/first/build/one/kept"
builds_in first >"$work/log"
[ -e "$work/first/build/one/kept" ] || fail "a folder that was not moved was made anew"
mv "$work/first" "$work/moved"
anew moved first
cp -r "$work/moved" "$work/copied"
anew copied moved
