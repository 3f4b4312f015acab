#!/usr/bin/env bash
# Installs what is missing, builds, and measures what the tap costs packets that are no Channel Access.
#
#   bench/foreign_packets.sh [--rounds N] [--messages N]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/foreign_packets.sh" "$@"
scripts/install-deps.sh build bench
configure_and_build build -DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=ON
exec build/bench/foreign_packets "$@"
