#!/usr/bin/env bash
# scripts/test_summary.py: what a run is counted as, and which entries of it are run a second time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh
# shellcheck source=tests/packaging/lib.sh
. tests/packaging/lib.sh
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# entry NAME MESSAGE...: an entry with one test for each message; "" passes, one of a fixture is an error to pytest
entry() {
  local name=$1 message kind
  shift
  {
    echo '<testsuites><testsuite>'
    for message in "$@"; do
      echo "<testcase name='test_$((number += 1))' classname='file'>"
      case $message in "failed on setup"*) kind=error ;; *) kind=failure ;; esac
      [ -z "$message" ] || echo "<$kind message='$message'/>"
      echo '</testcase>'
    done
    echo '</testsuite></testsuites>'
  } >"$place/$name.xml"
}

# run FILE NAME=OUTCOME...: a run of ctest
run() {
  local file=$1 pair
  shift
  {
    echo '<testsuite>'
    for pair in "$@"; do
      if [ "${pair#*=}" = passed ]; then
        echo "<testcase name='${pair%=*}' status='run'/>"
      else
        echo "<testcase name='${pair%=*}' status='fail'><failure/></testcase>"
      fi
    done
    echo '</testsuite>'
  } >"$place/$file"
}

summary() { "$(system_python)" scripts/test_summary.py "$@" "$place/ctest.xml" "$place"; }

number=0
late='AssertionError: not within 30 s: beacons (last value: False)'
entry e2e.good "" ""
entry e2e.late "" "$late"
entry e2e.late_fixture "failed on setup with &quot;$late&quot;"
entry e2e.broken_fixture 'failed on setup with &quot;KeyError: 1&quot;'
entry e2e.wrong "$late" 'assert 22 == 23'
run ctest.xml e2e.good=passed e2e.late=failed
is "what is run again" '^(e2e\.late)$' "$(summary --waits)"
counted=$(summary) && die "a failed test is no failure"
is "the counts" '3 passed, 1 failed, 0 skipped' "${counted##*$'\n'}"

run ctest.xml e2e.good=passed e2e.late_fixture=failed
is "what is run again after a fixture" '^(e2e\.late_fixture)$' "$(summary --waits)"
entry e2e.late_answer "TimeoutError: timed out"
run ctest.xml e2e.good=passed e2e.late_answer=failed
is "what is run again after an answer that was late" '^(e2e\.late_answer)$' "$(summary --waits)"
run ctest.xml e2e.good=passed e2e.broken_fixture=failed
is "what is run again after a broken fixture" '' "$(summary --waits)"

run ctest.xml e2e.good=passed e2e.late=failed e2e.wrong=failed
is "what is run again beside a wrong count" '' "$(summary --waits)"
run ctest.xml e2e.good=passed
is "what is run again where nothing failed" '' "$(summary --waits)"

# A second run leaves the entry's file anew.
entry e2e.late "" ""
run ctest.xml e2e.good=passed e2e.late=failed
run again.xml e2e.late=passed
counted=$(summary --again "$place/again.xml") || die "the second run does not count"
is "the counts of both" '4 passed, 0 failed, 0 skipped' "${counted##*$'\n'}"
holds "$counted" 'e2e.late: a wait ran out beside others, so it was run a second time, alone: passed'
