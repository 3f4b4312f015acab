#!/usr/bin/env bash
# Installs what is missing, builds, and measures what the Channel Access tap costs a flood of puts.
#
#   bench/puts.sh [OPTION...]     options: see bench/puts.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/puts.sh" "$@"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
[ -x build/tests/e2e/tools/ca_flood ] || die "the load was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/puts.py --build build \
  --dbd .cache/test-env/base/7.0.10/epicscorelibs/dbd "$@"
