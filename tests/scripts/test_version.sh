#!/usr/bin/env bash
# cmake/Version.cmake: the version of a commit with a tag, of others, of changed files, of archives of both, and of files alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
command -v git >/dev/null || skip "there is no git"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project=$(cd "$here/../.." && pwd)
export GIT_CEILING_DIRECTORIES=$work
unset GIT_DIR GIT_WORK_TREE

sources=$work/sources
mkdir -p "$sources/cmake"
cp "$project/cmake/Version.cmake" "$sources/cmake"
cp "$project/.gitattributes" "$sources"
cat >"$sources/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(version VERSION 0.3.0 LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_SOURCE_DIR}/cmake)
find_package(Git QUIET)
include(Version)
file(WRITE ${CMAKE_BINARY_DIR}/version "${IOC_EXPORTER_VERSION} ${IOC_EXPORTER_PACKAGE_VERSION}")
CMAKE
version_of() { # DIRECTORY
  cmake -S "$1" -B "$work/build" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
  cat "$work/build/version"
  rm -rf "$work/build"
}
in_git() { git -C "$sources" -c user.name=test -c user.email=test@test.invalid "$@"; }
commit() {
  in_git add --all
  GIT_COMMITTER_DATE="2026-11-27T03:04:05+0000" in_git commit -q --allow-empty -m test
  rev=$(in_git rev-parse --short=12 HEAD)
}
archive() { # DIRECTORY
  mkdir "$1"
  in_git archive HEAD | tar -x -C "$1"
}

is "files alone" "0.3.0-dev 0.3.0~dev" "$(version_of "$sources")"
in_git init -q
commit
is "a commit" "0.3.0-dev+$rev 0.3.0~dev.202611270304+$rev" "$(version_of "$sources")"
archive "$work/of-commit"
is "its archive" "0.3.0-dev 0.3.0~dev" "$(version_of "$work/of-commit")"
in_git tag v0.2.0-rc1
in_git tag other
is "a commit with other tags" "0.3.0-dev+$rev 0.3.0~dev.202611270304+$rev" "$(version_of "$sources")"
in_git tag -a v0.2.0 -m "the release"
is "the tagged commit" "0.2.0 0.2.0" "$(version_of "$sources")"
archive "$work/of-tag"
is "its archive" "0.2.0 0.2.0" "$(version_of "$work/of-tag")"
echo "# changed" >>"$sources/CMakeLists.txt"
is "changed files" "0.3.0-dev+$rev.dirty 0.3.0~dev.202611270304+$rev.dirty" "$(version_of "$sources")"
commit
is "the commit after" "0.3.0-dev+$rev 0.3.0~dev.202611270304+$rev" "$(version_of "$sources")"
mkdir -p "$sources/inner"
cp -r "$work/of-commit/." "$sources/inner"
is "files in another project's checkout" "0.3.0-dev 0.3.0~dev" "$(version_of "$sources/inner")"

# An earlier build gives way to a later one, and all of them to the release.
older="0.3.0~dev.202611270304+ffffffffffff"
for newer in "0.3.0~dev.202611280000+000000000000" 0.3.0; do
  ! command -v dpkg >/dev/null || dpkg --compare-versions "$older" lt "$newer" || fail "dpkg: $older is not older than $newer"
done
