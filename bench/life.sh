#!/usr/bin/env bash
# Installs what is missing, builds, and runs the exporter beside very many clients for a quarter of an hour.
#
#   bench/life.sh [OPTION...]     options: see bench/life.py
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/life.sh" "$@"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
ioc=$(find build -type f -name ioc_launcher_7.0.10 -perm -u+x)
[ -n "$ioc" ] || die "the IOC was not built: no EPICS Base for this machine"
exec "$(system_python)" bench/life.py --exporter build/ioc_exporter --clients build/bench/ca_clients \
  --ioc "$ioc" --dbd .cache/test-env/base/7.0.10/epicscorelibs/dbd "$@"
