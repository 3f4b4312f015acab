#!/usr/bin/env bash
# Runs one of these files for ctest; exit status 77 and a line "SKIPPED: reason" when it cannot run here.
#
#   run_pytest.sh TEST_FILE
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
# shellcheck disable=SC2086 # IOC_EXPORTER_PYTEST: several words
exec "$python" -m pytest -q --tb=short -p no:cacheprovider ${IOC_EXPORTER_PYTEST:-} \
  --junit-xml="${IOC_EXPORTER_RESULTS:?}/${IOC_EXPORTER_ENTRY:?}.xml" "$1"
