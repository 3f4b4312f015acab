#!/usr/bin/env bash
# Makes what the end-to-end tests run, once:
#
#   scripts/make-test-env.sh DIRECTORY [--whole]
#
#   DIRECTORY/venv                         the tests' Python packages, with the newest EPICS Base
#   DIRECTORY/base/VERSION/epicscorelibs   lib/, include/ and dbd/ of the oldest and the newest Base in tests/e2e/bases.txt, or
#                                          of every one
#
# An older Base is the content of its wheel for another Python version: nothing of that Python is needed.
# A Base that has no wheel for this machine's architecture is left out, and its tests skip.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] || die "usage: scripts/make-test-env.sh DIRECTORY [--whole]"
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
venv=$directory/venv
python=$venv/bin/python
machine=$(uname -m)

"$project/scripts/make-venv.sh" "$venv" "$project/tests/e2e/requirements.txt"

link_installed_base() {
  local package
  package=$("$python" -c 'import importlib.util as u; print(u.find_spec("epicscorelibs").submodule_search_locations[0])')
  mkdir -p "$directory/base/$1"
  ln -sfn "$package" "$directory/base/$1/epicscorelibs"
}

unpack_base() {
  local name=$1 version=$2 tag=$3 target=$directory/base/$1 wheels=$directory/wheels
  [ "$(cat "$target/made-for" 2>/dev/null)" != "$version" ] || return 0
  say "EPICS Base $name (wheel $version)"
  rm -rf "$target"
  mkdir -p "$wheels"
  if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --implementation cp --python-version "${tag#cp}" --abi "$tag" \
    --platform "manylinux1_$machine" --platform "manylinux2014_$machine" \
    --dest "$wheels" "epicscorelibs==$version" 2>"$wheels/pip.log"; then
    cat "$wheels/pip.log" >&2
    # These versions are known to have wheels for x86_64; elsewhere one may not exist.
    [ "$machine" != x86_64 ] || die "could not download epicscorelibs $version"
    say "no wheel of EPICS Base $name for $machine: its tests will be skipped"
    return 0
  fi
  mkdir -p "$target"
  "$python" -m zipfile -e "$wheels/epicscorelibs-$version-$tag-"*.whl "$target"
  printf '%s\n' "$version" >"$target/made-for"
}

oldest=
while read -r name version tag; do
  case $name in "" | "#"*) continue ;; esac
  if [ "$tag" = - ]; then
    link_installed_base "$name"
  elif [ -z "$oldest" ] || [ "${2-}" = --whole ]; then
    oldest=$name
    unpack_base "$name" "$version" "$tag"
  fi
done <"$project/tests/e2e/bases.txt"
