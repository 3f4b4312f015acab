#!/usr/bin/env bash
# Installs what is missing, builds, and measures the exporter beside 100 IOCs that do nothing.
#
#   bench/idle.sh [OPTION...]     options: see bench/idle.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/idle.sh" "$@"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
ioc=$(find build -type f -name ioc_launcher_7.0.7 -perm -u+x)
[ -n "$ioc" ] || die "the IOC was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/idle.py --exporter build/ioc_exporter --ioc "$ioc" \
  --base .cache/test-env/base/7.0.7/epicscorelibs "$@"
