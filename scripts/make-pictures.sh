#!/usr/bin/env bash
# Makes the pictures in docs/pictures again, from a demo with several IOCs that runs for ten minutes or more:
#
#   ./run.sh --demo -- --records.causes --collector.putlog     and beside it:     demo/more.sh BO TL LI
#   scripts/make-pictures.sh [EXPORTER_PORT [PROMETHEUS_PORT]]      default: 10064 9090
#
# Needs chromium (Debian: apt-get install chromium), and what scripts/draw-grafana.sh needs for the dashboards. Each
# picture is to be looked at before it is committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -le 2 ] || die "usage: scripts/make-pictures.sh [EXPORTER_PORT [PROMETHEUS_PORT]]"
exporter=${1:-10064}
prometheus=${2:-9090}

profile=$(mktemp -d -t ioc_exporter-pictures.XXXXXX)
trap 'rm -rf "$profile"' EXIT

http_get "$exporter" / >/dev/null || die "no exporter answers on port $exporter: start ./run.sh --demo"
http_get "$prometheus" /-/ready >/dev/null || die "no Prometheus answers on port $prometheus"
picture "$profile" docs/pictures/landing.png 1000,1150 "http://localhost:$exporter/"

# The dashboards as operators see them first: three dark, two light.
export FROM=now-10m WIDTH=1366 HEIGHT=1150
DASHBOARDS="overview puts iocs exporter" scripts/draw-grafana.sh "$profile/dashboards" "$prometheus"
DASHBOARDS=records scripts/draw-grafana.sh "$profile/dashboards" "$prometheus" demo-ring
for drawn in overview-dark puts-dark iocs-light records-dark exporter-light; do
  cp "$profile/dashboards/$drawn.png" "docs/pictures/dashboard-${drawn%-*}.png"
  say "docs/pictures/dashboard-${drawn%-*}.png: $(stat -c %s "docs/pictures/dashboard-${drawn%-*}.png") bytes"
done

scripts/record_terminal.py --seconds 60 --columns 150 --shown "ioc_exporter puts --unexpected" docs/pictures/puts-terminal.svg \
  build/ioc_exporter puts "--url=http://localhost:$exporter" --unexpected
