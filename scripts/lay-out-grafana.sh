#!/usr/bin/env bash
# Lays out the dashboards for Grafana, with what it reads at its start to have them:
#
#   scripts/lay-out-grafana.sh DIRECTORY [URL_OF_PROMETHEUS]
#
#   DIRECTORY/dashboards/*.json
#   DIRECTORY/provisioning/dashboards/ioc_exporter.yml      where they are
#   DIRECTORY/provisioning/datasources/ioc_exporter.yml     the Prometheus (default: http://localhost:9090)
#
# GF_PATHS_PROVISIONING=DIRECTORY/provisioning tells Grafana of it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -ge 1 ] && [ -n "$1" ] || die "usage: scripts/lay-out-grafana.sh DIRECTORY [URL_OF_PROMETHEUS]"
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$1/dashboards" "$1/provisioning/dashboards" "$1/provisioning/datasources"
directory=$(cd "$1" && pwd)
# Into a YAML text in double quotes, by sed.
quoted() { printf '"%s"' "$(sed 's/[\\"]/\\&/g' <<<"$1")" | sed 's/[\\|&]/\\&/g'; }

cp "$project"/dashboards/*.json "$directory/dashboards"
sed "s|path: .*|path: $(quoted "$directory/dashboards")|" "$project/dashboards/provisioning/dashboards.yml" \
  >"$directory/provisioning/dashboards/ioc_exporter.yml"
sed "s|url: .*|url: $(quoted "${2:-http://localhost:9090}")|" "$project/dashboards/provisioning/datasources.yml" \
  >"$directory/provisioning/datasources/ioc_exporter.yml"
say "dashboards for Grafana in $directory: GF_PATHS_PROVISIONING=$directory/provisioning"
