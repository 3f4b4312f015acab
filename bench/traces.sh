#!/usr/bin/env bash
# Installs what is missing, builds, and measures how many chains can be traced, beside bpftrace.
#
#   sudo bench/traces.sh [OPTION...]     options: see bench/traces.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ "$(id -u)" -eq 0 ] || die "needs root: run sudo bench/traces.sh"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
[ -x build/bench/ioc_load ] || die "the load was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/traces.py --build build \
  --dbd .cache/test-env/base/7.0.10/epicscorelibs/dbd "$@"
