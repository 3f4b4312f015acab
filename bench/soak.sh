#!/usr/bin/env bash
# Installs what is missing, builds, and runs the exporter for hours beside IOCs and clients that come and go. Prints once a
# minute what it holds, and at the end whether anything has grown and whether all counts are exact.
#
#   bench/soak.sh HOURS     such as 1 or 0.5
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[[ "${1:-}" =~ ^[0-9.]+$ ]] || die "usage: bench/soak.sh HOURS"
become_root "measuring" "$PWD/bench/soak.sh" "$@"
scripts/install-deps.sh build test
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
seconds=$(awk "BEGIN { print $1 * 3600 }")
export IOC_EXPORTER_SOAK_SECONDS=$seconds IOC_EXPORTER_BIN=$PWD/build/ioc_exporter IOC_EXPORTER_TOOLS=$PWD/build/tests/e2e/tools
export IOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env IOC_EXPORTER_RESULTS=$PWD/build/results IOC_EXPORTER_ENTRY=e2e.soak
exec tests/e2e/run_pytest.sh test_soak.py -s -o faulthandler_timeout=0
