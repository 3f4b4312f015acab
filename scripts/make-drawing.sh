#!/usr/bin/env bash
# Makes what draws dashboards, in headless Chromium on Grafana's own dashboard runtime:
#
#   scripts/make-drawing.sh DIRECTORY
#
#   DIRECTORY/draw.mjs, drive.mjs    what dashboards/draw has, with its libraries (600 MB, fetched once) and its bundle
#   DIRECTORY/skipped                instead: why there is none here
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-drawing.sh DIRECTORY"
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../dashboards/draw" && pwd)
mkdir -p "$1"
cd "$1"

skip() {
  echo "$1" >skipped
  say "no pictures of dashboards: $1"
  exit 0
}
rm -f skipped
for program in chromium node npm; do
  command -v "$program" >/dev/null || skip "there is no $program in PATH"
done
if ! cmp -s "$source/package.json" made-for; then
  say "Grafana's libraries into $PWD"
  cp "$source/package.json" "$source/.npmrc" .
  npm install --no-fund --no-audit --loglevel=error || skip "npm could not fetch Grafana's libraries"
  cp package.json made-for
  rm -f bundled
fi
if ! diff -r "$source" bundled >/dev/null 2>&1; then
  rm -rf bundled src dist
  cp -r "$source"/*.mjs "$source/src" .
  node build.mjs
  cp -r "$source" bundled
fi
