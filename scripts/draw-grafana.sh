#!/usr/bin/env bash
# Draws the dashboards, dark and light, with data from a Prometheus that runs:
#
#   scripts/draw-grafana.sh DIRECTORY [PROMETHEUS_PORT [IOC]]      default: 9090, all IOCs
#
# Needs chromium, node 18 or newer and npm (Debian: apt-get install chromium npm); scripts/make-drawing.sh fetches the rest.
# FROM=now-5m sets the time shown, DASHBOARDS="puts iocs" which are drawn, WIDTH, HEIGHT and THEMES=dark how. Exits 1, and
# names them, when panels are empty or fail.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -lt 1 ] || [ $# -gt 3 ]; then die "usage: scripts/draw-grafana.sh DIRECTORY [PROMETHEUS_PORT [IOC]]"; fi
directory=$1
port=${2:-9090}
ioc=${3:-}
tool=.cache/draw

http_get "$port" /-/ready >/dev/null || die "no Prometheus answers on port $port"

scripts/make-drawing.sh "$tool"
[ ! -e "$tool/skipped" ] || die "$(cat "$tool/skipped")"
mkdir -p "$directory"
status=0
for name in ${DASHBOARDS:-overview puts records iocs drivers exporter}; do
  PROM=http://127.0.0.1:$port CHROMIUM=$(command -v chromium) node "$tool/draw.mjs" dashboards "$name" "$directory/$name" \
    "from=${FROM:-now-5m}&to=now${ioc:+&var-ioc=$ioc}" || status=1
done
exit "$status"
