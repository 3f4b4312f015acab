#!/usr/bin/env bash
# Runs one end-to-end test for ctest; exit status 77 and a line "SKIPPED: reason" when it cannot run here.
#
#   run_pytest.sh TEST_FILE::TEST_NAME
set -euo pipefail

skip() {
  echo "SKIPPED: $1"
  exit 77
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ "$(id -u)" -eq 0 ] || skip "needs root: run sudo ./test.sh"
[ -n "${IOC_EXPORTER_TEST_ENV:-}" ] || skip "no test environment was configured: run ./test.sh"
python=$IOC_EXPORTER_TEST_ENV/venv/bin/python
[ -x "$python" ] || skip "there is no $python: run ./test.sh"
[ -x "${IOC_EXPORTER_BIN:?}" ] || {
  echo "the exporter was not built: there is no $IOC_EXPORTER_BIN" >&2
  exit 1
}

cd "$here"
# No address or port of the caller's own IOCs reaches the tests.
for variable in $(compgen -e | grep '^EPICS_' || true); do unset "$variable"; done
# What is compiled once need not be for each test; and it stays out of the source tree.
export PYTHONPYCACHEPREFIX="${IOC_EXPORTER_TOOLS:?}/../pycache"
exec "$python" -m pytest -q --tb=short -p no:cacheprovider \
  -o tmp_path_retention_policy=failed "$1"
