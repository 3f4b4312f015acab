#!/usr/bin/env bash
# scripts/make-release.sh makes nothing without a git checkout, nor of a program whose revision is unknown or another one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
command -v git >/dev/null || skip "there is no git"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/outer/sources/scripts" "$work/outer/sources/built"
cp "$here"/../../scripts/{make-release,lib,progress}.sh "$work/outer/sources/scripts"
printf '#!/bin/sh\necho "ioc_exporter 0.1.0 (GNU 12.2.0)"\n' >"$work/outer/sources/built/ioc_exporter_static"
chmod +x "$work/outer/sources/built/ioc_exporter_static"

refuses() { # WHAT IT_SAYS
  ! "$work/outer/sources/scripts/make-release.sh" --build built "$work/dist" >"$work/log" 2>&1 || fail "$1: a release"
  holds "$(cat "$work/log")" "$2"
  [ ! -e "$work/dist" ] || fail "$1: it leaves $(ls "$work/dist")"
}
checkout() { # DIRECTORY
  git -C "$1" init -q
  git -C "$1" -c user.name=test -c user.email=test@test.invalid commit -q --allow-empty -m test
}
export GIT_CEILING_DIRECTORIES=$work
unset SUDO_UID DOAS_USER
refuses "files alone" "needs a git checkout"
checkout "$work/outer"
refuses "files in another project's checkout" "needs a git checkout"
checkout "$work/outer/sources"
refuses "a program without a revision" "built without the revision"
sed -i 's/(GNU/(revision 0123456789ab, GNU/' "$work/outer/sources/built/ioc_exporter_static"
refuses "a program of another revision" "was built from revision 0123456789ab, the documents and rules here are of "
