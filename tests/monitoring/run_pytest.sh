#!/usr/bin/env bash
# Runs one of these tests for ctest; exit status 77 and a line "SKIPPED: reason" when it cannot run here.
#
#   run_pytest.sh TEST_FILE::TEST_NAME
set -euo pipefail

skip() {
  echo "SKIPPED: $1"
  exit 77
}

[ -n "${IOC_EXPORTER_TEST_ENV:-}" ] || skip "no test environment was configured: run ./test.sh"
python=$IOC_EXPORTER_TEST_ENV/venv/bin/python
[ -x "$python" ] || skip "there is no $python: run ./test.sh"
cd "$(dirname "${BASH_SOURCE[0]}")"
export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q --tb=short -p no:cacheprovider "$1"
