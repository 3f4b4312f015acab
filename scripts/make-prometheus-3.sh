#!/usr/bin/env bash
# Builds a Prometheus 3 from its Go module, for the end-to-end test that no Debian package of it
# exists for. Takes Go 1.23 or later, some minutes and 2 GB. Without the pages of its web server.
#
#   scripts/make-prometheus-3.sh DIRECTORY     makes DIRECTORY/prometheus-3
#
# Then: IOC_EXPORTER_PROMETHEUS_3=DIRECTORY/prometheus-3 ./test.sh
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=v0.305.0 # of the module: Prometheus 3.5.0
[ $# -eq 1 ] || die "usage: scripts/make-prometheus-3.sh DIRECTORY"
mkdir -p "$1"
directory=$(cd "$1" && pwd)
[ ! -x "$directory/prometheus-3" ] || exit 0
command -v go >/dev/null || die "Prometheus is built by Go (1.23 or later), which is not here"

# A module of our own: go install takes no module that replaces another one, as this does.
module=$directory/prometheus-3-module
rm -rf "$module"
mkdir "$module"
cd "$module"
go mod init prometheus-3 2>/dev/null
go get "github.com/prometheus/prometheus/cmd/prometheus@$version"
go build -o "$directory/prometheus-3" github.com/prometheus/prometheus/cmd/prometheus
say "$("$directory/prometheus-3" --version 2>&1 | head -1)"
