#!/usr/bin/env bash
# Makes docs/pictures/dashboard-overview.png again, from a demo with several IOCs that runs for a quarter of an hour:
#
#   ./run.sh --demo -- --records.causes --collector.putlog     and beside it:     demo/more.sh BO TL LI
#   scripts/make-pictures.sh [PROMETHEUS_PORT]      default: 9090
#
# Needs what scripts/draw-grafana.sh needs. The picture is to be looked at before it is committed; that one is of three exporters, of
# which one was ended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -le 1 ] || die "usage: scripts/make-pictures.sh [PROMETHEUS_PORT]"
prometheus=${1:-9090}

profile=$(mktemp -d -t ioc_exporter-pictures.XXXXXX)
trap 'rm -rf "$profile"' EXIT

http_get "$prometheus" /-/ready >/dev/null || die "no Prometheus answers on port $prometheus"

# The dashboard as operators see it first.
export FROM=now-10m WIDTH=1366 HEIGHT=856 THEMES=dark
DASHBOARDS=overview scripts/draw-grafana.sh "$profile/dashboards" "$prometheus"
cp "$profile/dashboards/overview-dark.png" docs/pictures/dashboard-overview.png
