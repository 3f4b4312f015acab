#!/usr/bin/env bash
# Installs what is missing, builds, and measures what a described function's call costs.
#
#   bench/functions.sh [ROUNDS [SECONDS]]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/functions.sh" "$@"
scripts/install-deps.sh build test bench
configure_and_build build -DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=ON
exec build/bench/functions "$@"
