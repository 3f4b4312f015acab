#!/usr/bin/env bash
# Installs what is missing, builds, and measures what a real IOC, and its users, pay for the probes.
#
#   sudo bench/ioc.sh [OPTION...]     options: see bench/ioc.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ "$(id -u)" -eq 0 ] || die "needs root: run sudo bench/ioc.sh"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
[ -x build/bench/ioc_load ] || die "the load was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/ioc.py --build build \
  --dbd "$(echo .cache/test-env/base/7.0.10/epicscorelibs/dbd)" "$@"
