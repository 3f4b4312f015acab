#!/usr/bin/env bash
# Runs end-to-end tests for ctest; exit status 77 and a line "SKIPPED: reason" when none can run here.
#
#   run_pytest.sh TEST_FILE... [PYTEST_OPTION...]
#
# In a network namespace of their own, where they may: the ports and the packets on its loopback are theirs.
set -euo pipefail

skip() {
  echo "SKIPPED: $1"
  exit 77
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ "$(id -u)" -eq 0 ] || skip "needs root: run ./test.sh"
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
# Modules are compiled once, not by each of hundreds of processes, whatever the caller's settings;
# and it stays out of the source tree.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX="${IOC_EXPORTER_TOOLS:?}/../pycache"
# Names what listens in the test's own process, should an exporter ask.
export IOCNAME=${IOC_EXPORTER_ENTRY:?}
alone=()
if unshare --net ip link set lo up 2>/dev/null; then
  # shellcheck disable=SC2016 # for the shell inside
  alone=(unshare --net sh -c 'ip link set lo up && exec "$@"' sh)
fi
# shellcheck disable=SC2086 # IOC_EXPORTER_PYTEST: several words
exec "${alone[@]}" "$python" -m pytest -q --tb=short -p no:cacheprovider -o "faulthandler_timeout=${IOC_EXPORTER_DUMP_AFTER:-170}" \
  -o tmp_path_retention_policy=failed --junit-xml="${IOC_EXPORTER_RESULTS:?}/$IOC_EXPORTER_ENTRY.xml" \
  "$@" ${IOC_EXPORTER_PYTEST:-}
