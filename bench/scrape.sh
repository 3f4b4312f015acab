#!/usr/bin/env bash
# Installs what is missing, builds, and measures what a scrape costs: ours in each format, beside
# prometheus-cpp's Exposer with the same series.
#
#   bench/scrape.sh [RECORDS...]     default: 1000 10000 100000
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/scrape.sh" "$@"
scripts/install-deps.sh build
configure_and_build build -DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=ON
[ -x build/bench/scrape ] || die "the benchmark was not built: prometheus-cpp's pull library is missing"

times=7
measure() {  # NAME ours|prometheus-cpp RECORDS [HEADER...]
  printf '%-34s %8s ' "$1" "$3"
  build/bench/scrape "$2" "$3" "$times" "${@:4}"
}

printf '%-34s %8s %8s %8s %10s %8s %8s\n' "" records "CPU ms" "wall ms" MB "peak MB" "RSS MB"
[ $# -gt 0 ] || set -- 1000 10000 100000
for records in "$@"; do
  measure "text" ours "$records"
  measure "text, gzip" ours "$records" "Accept-Encoding: gzip"
  measure "text, zstd" ours "$records" "Accept-Encoding: zstd"
  measure "OpenMetrics" ours "$records" "Accept: application/openmetrics-text;version=1.0.0"
  measure "protobuf" ours "$records" \
    "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
  measure "prometheus-cpp" prometheus-cpp "$records"
  measure "prometheus-cpp, gzip" prometheus-cpp "$records" "Accept-Encoding: gzip"
done
