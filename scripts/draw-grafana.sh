#!/usr/bin/env bash
# Draws the dashboards, dark and light, with data from a Prometheus that runs:
#
#   scripts/draw-grafana.sh DIRECTORY [PROMETHEUS_PORT [IOC]]      default: 9090, all IOCs
#
# Needs chromium, node 18 or newer and npm (Debian: apt-get install chromium npm); the first time it installs
# Grafana's front-end libraries into .cache/draw, 600 MB. FROM=now-5m sets the time shown, DASHBOARDS="puts iocs"
# which are drawn. Exits 1, and names them, when panels are empty or cannot be drawn.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ $# -lt 1 ] || [ $# -gt 3 ]; then die "usage: scripts/draw-grafana.sh DIRECTORY [PROMETHEUS_PORT [IOC]]"; fi
directory=$1
port=${2:-9090}
ioc=${3:-.*}
tool=.cache/draw

for program in chromium node npm; do
  command -v "$program" >/dev/null || die "there is no $program in PATH"
done
http_get "$port" /-/ready >/dev/null || die "no Prometheus answers on port $port"

mkdir -p "$tool" "$directory"
if ! cmp -s dashboards/draw/package.json "$tool/made-for"; then
  say "Grafana's libraries into $tool"
  cp dashboards/draw/package.json "$tool/"
  (cd "$tool" && npm install --no-fund --no-audit --loglevel=error)
  cp dashboards/draw/package.json "$tool/made-for"
fi
cp -r dashboards/draw/*.mjs dashboards/draw/src "$tool/"
(cd "$tool" && node build.mjs)

status=0
for name in ${DASHBOARDS:-overview puts records iocs exporter}; do
  PROM=http://127.0.0.1:$port CHROMIUM=$(command -v chromium) node "$tool/draw.mjs" "dashboards/$name.json" \
    "$directory/$name" "job=.*" "instance=.*" "ioc=$ioc" \
    "pvs=.*" "users=.*" "clients=.*" "records=.*" "exporter=localhost:10064" "from=${FROM:-now-5m}" to=now || status=1
done
exit "$status"
