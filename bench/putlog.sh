#!/usr/bin/env bash
# Installs what is missing, builds, and measures what a log of every put costs.
#
#   bench/putlog.sh [OPTION...]     options: see bench/putlog.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/putlog.sh" "$@"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
[ -x build/tests/e2e/tools/ca_flood ] || die "the load was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/putlog.py --build build \
  --dbd .cache/test-env/base/7.0.10/epicscorelibs/dbd "$@"
