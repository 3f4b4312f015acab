#!/usr/bin/env bash
# scripts/test_summary.py: what a run is counted as, and which entries it names as the longest.
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

# run SECONDS:NAME=OUTCOME...: a run of ctest
run() {
  local one pair
  {
    echo '<testsuite>'
    for one in "$@"; do
      pair=${one#*:}
      if [ "${pair#*=}" = passed ]; then
        echo "<testcase name='${pair%=*}' time='${one%%:*}' status='run'/>"
      else
        echo "<testcase name='${pair%=*}' time='${one%%:*}' status='fail'><failure/></testcase>"
      fi
    done
    echo '</testsuite>'
  } >"$place/ctest.xml"
}

summary() { "$(system_python)" scripts/test_summary.py "$place/ctest.xml" "$place"; }

number=0
entry e2e.good "" ""
entry e2e.wrong "" 'assert 22 == 23'
entry e2e.broken 'failed on setup with &quot;KeyError: 1&quot;'
run 2:e2e.good=passed 31.4:e2e.wrong=failed 1:e2e.broken=failed 7:make.kernels=passed
counted=$(summary) && die "a failed test is no failure"
is "the counts" '3 passed, 2 failed, 0 skipped' "${counted##*$'\n'}"
holds "$counted" $'longest, in seconds:\n  e2e.wrong: 31\n  make.kernels: 7\n  e2e.good: 2\n'

run 1:make.kernels=failed
counted=$(summary) && die "what could not be made is no failure"
is "the counts where something could not be made" '0 passed, 1 failed, 0 skipped' "${counted##*$'\n'}"

run 2:e2e.good=passed 1:one=passed 1:two=passed 1:three=passed 1:four=passed 1:five=passed 1:six=passed 1:seven=passed 1:eight=passed \
  1:nine=passed 0:ten=passed
counted=$(summary) || die "no test failed"
is "how many are named" 10 "$(grep -c ': [0-9]*$' <<<"$counted")"
