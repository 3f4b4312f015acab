#!/usr/bin/env bash
# Builds a Prometheus 3 for the end-to-end tests, once; Debian 12 has only Prometheus 2.
#
#   scripts/make-prometheus-3.sh DIRECTORY
#
#   DIRECTORY/prometheus    the server, from its Go module
#   DIRECTORY/skipped       instead: why this host can build none
#   DIRECTORY/lock          locked while this runs: the tests wait for it
#
# The server is whole but for the ways to find targets that its build may leave out (its plugins.yml: clouds,
# Kubernetes and the like) and the pages of its web server. What matters of it is that it was built soon, not
# how fast it is: the compiler takes the most time when it optimises. Of the modules and of Go's caches
# nothing is kept.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

module=github.com/prometheus/prometheus
version=v0.305.0 # Prometheus 3.5.0
sum=h1:UO/LsM32/E9yBDtvQj8tN+WwhbyWKR10lO35vmFLx0U=
needs=23 # Go 1.23, says its go.mod

[ $# -eq 1 ] || die "usage: scripts/make-prometheus-3.sh DIRECTORY"
mkdir -p "$1"
directory=$(cd "$1" && pwd)
exec 9>"$directory/lock"
flock 9
[ "$(cat "$directory/made-for" 2>/dev/null)" != "$version" ] || exit 0
rm -f "$directory/prometheus" "$directory/skipped"

# sudo's PATH is often not the one that has Go.
PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin
# This Go and no newer one that it might fetch; no other module or repository around it.
export GOTOOLCHAIN=local GOWORK=off GO111MODULE=on GOFLAGS=-buildvcs=false CGO_ENABLED=0
found=$(go env GOVERSION 2>/dev/null || true)
minor=$(sed -n 's/^go1\.\([0-9]*\).*/\1/p' <<<"$found")
if [ "${minor:-0}" -lt "$needs" ]; then
  reason="no Prometheus 3: it is built by Go 1.$needs or later, and this host has ${found:-none}"
  echo "$reason" >"$directory/skipped"
  say "$reason"
  exit 0
fi

say "Prometheus 3 ($module $version)"
# What a run left that was ended early is of use to this one.
work=$directory/work
mkdir -p "$work"
export GOPATH=$work/go GOCACHE=$work/cache
cd "$work"
# Its checksum is the one here; those of what it needs are in its own go.sum.
got=$(GONOSUMDB=$module go mod download -json "$module@$version") || die "fetch $module $version: $got"
[[ $got == *"\"Sum\": \"$sum\""* ]] || die "$module $version is not what it was: $got"
rm -rf source
cp -r "$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$got")" source
chmod -R u+w source
cd source
export GOGC=400 # of the compiler: it collects less often, a tenth of its time
echo "package plugins" >plugins/plugins.go # what its build makes of an empty plugins.yml
go build -gcflags="all=-N -l -dwarf=false" \
  -ldflags="-s -w -X github.com/prometheus/common/version.Version=$(cat VERSION)" \
  -o "$directory/prometheus" ./cmd/prometheus || die "build $module $version: see above"
cd "$directory"
say "$(./prometheus --version 2>&1 | head -1)"
chmod -R u+w "$work" # modules are read-only
rm -rf "$work"
echo "$version" >made-for
