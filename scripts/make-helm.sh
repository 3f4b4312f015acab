#!/usr/bin/env bash
# Makes Helm for the test of the chart, once, as a Go module; Debian has no package of it. Nothing is installed.
#
#   scripts/make-helm.sh DIRECTORY
#
#   DIRECTORY/helm       the program: this host's, where there is one, or built
#   DIRECTORY/skipped    instead: why there is none here
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-helm.sh DIRECTORY"
module=helm.sh/helm/v3/cmd/helm@v3.19.5 # of those, go 1.24 builds the newest
mkdir -p "$1"
cd "$1"
[ ! -x helm ] || exit 0
skip() {
  echo "$1" >skipped
  say "no Helm: $1"
  exit 0
}
rm -f skipped
if program=$(command -v helm); then
  ln -s "$program" helm
  exit 0
fi
# Go since 1.21 fetches a newer one of itself where a module asks for it.
command -v go >/dev/null || skip "there is neither helm nor go in PATH"
mkdir -p work
with_progress "building Helm (minutes, once)" "$PWD/log" env GOBIN="$PWD/work" GOPATH="$PWD/work/path" GOFLAGS=-modcacherw \
  GOCACHE="$PWD/work/cache" CGO_ENABLED=0 sh -c 'exec go install "$1" >>log 2>&1' sh "$module" ||
  skip "go install $module: $(tail -n 1 log)"
mv work/helm .
rm -rf work
