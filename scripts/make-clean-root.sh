#!/usr/bin/env bash
# Lays out what the test of a first run begins with, once, from this host's own Debian mirror and pip's index: this release of
# Debian with nothing but its essential packages and apt, and what ./run.sh will install there, as a repository of its own.
#
#   scripts/make-clean-root.sh DIRECTORY
#
#   DIRECTORY/root.tar    the essential packages and apt, installed
#   DIRECTORY/debs/       the packages of the groups build and demo, and all that they need
#   DIRECTORY/wheels/     Python's packages of demo/requirements.txt
#
# On a host that is not Debian the directory stays empty, and the test skips and says so. It needs root.
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$project/scripts/lib.sh"
# shellcheck source=scripts/debian.sh
. "$project/scripts/debian.sh"

[ $# -eq 1 ] || die "usage: scripts/make-clean-root.sh DIRECTORY"
begin_debian "clean root for the test of a first run" "$1"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
packages=$("$project/scripts/install-deps.sh" --names build demo)
requirements=$project/demo/requirements.txt
made_for=$(echo "$suite" "$packages" && cat "$requirements")
[ "$(cat "$directory/made-for" 2>/dev/null)" != "$made_for" ] || exit 0

say "a clean root of $suite for the test of a first run"
rm -rf "$directory"/{made-for,root.tar,debs,wheels}
mkdir -p "$directory/debs/partial" "$directory/wheels"
update "$suite"
# shellcheck disable=SC2086 # words
apt_of "$suite" install --download-only -y --no-install-recommends -o Dir::Cache::archives="$directory/debs" \
  '?essential' apt $packages >"$directory/log" || die "fetch the packages of the clean root: see $directory/log"
end_debian
(cd "$directory/debs" && dpkg-scanpackages --hash sha256 . >Packages 2>>"$directory/log")
mmdebstrap --mode=root --variant=apt --quiet "$suite" "$directory/root.tar" \
  "deb [trusted=yes] copy://$directory/debs ./" || die "make the clean root: see above"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(system_python)" -m venv "$work/venv"
"$work/venv/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --require-hashes \
  -r "$requirements" -d "$directory/wheels" || die "fetch what $requirements pins: see above"
printf '%s\n' "$made_for" >"$directory/made-for"
