#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests through ctest.
#
#   ./test.sh [--whole] [CTEST_OPTION...]      for example: ./test.sh -R e2e.puts
#
# What each change must pass: fifteen minutes on two CPUs. --whole: all tests, also those in browsers, virtual machines and other
# releases of Debian, on every EPICS Base; each fetches what it needs. That takes root: called by a user, this asks sudo or doas
# at the beginning; the build stays the user's. "./test.sh -L unit" needs no root, and has a build of its own.
# The last line printed is "N passed, N failed, N skipped"; the exit status is 0 only when none failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case ${1:-} in
  -h | --help)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

# Has clang its compiler-rt, which the sanitizers and libFuzzer are part of?
can_sanitize() {
  echo 'int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) { return size && *data ? 0 : 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}

build=build sanitized='' whole=OFF
if [ "${1:-} ${2:-}" = "-L unit" ]; then
  # It matters that they are there soon, not how fast they are.
  build=build/unit
  scripts/install-deps.sh build unit
  configure "$build" -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=OFF -DIOC_EXPORTER_WERROR=ON -DCMAKE_BUILD_TYPE=None
  build_targets "$build" tests_unit
  set -- "$@" -LE whole
else
  become_root "testing more than with -L unit" "$PWD/test.sh" "$@"
  if [ "${1:-}" = --whole ]; then
    shift
    export IOC_EXPORTER_WHOLE=1
    whole=ON
    scripts/install-deps.sh build release test
    scripts/fetch-sources.sh .cache/sources
    scripts/make-test-env.sh .cache/test-env --whole
  else
    scripts/install-deps.sh build test
    scripts/make-test-env.sh .cache/test-env
    set -- "$@" -LE whole
  fi
  options=(-DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_WERROR=ON "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env")
  if can_sanitize; then
    sanitized=$PWD/build/sanitized
    configure build/sanitized "${options[@]}" -DIOC_EXPORTER_BENCH=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
      -DIOC_EXPORTER_SANITIZE=address,undefined -DIOC_EXPORTER_FUZZ=$whole -DIOC_EXPORTER_BUNDLED_CIVETWEB=$whole
  fi
  configure build "${options[@]}" -DIOC_EXPORTER_BENCH=$whole -DIOC_EXPORTER_STATIC=$whole \
    "-DIOC_EXPORTER_SANITIZED_BUILD=$sanitized"
  build_targets build all
  [ -z "$sanitized" ] || build_targets build/sanitized tests_unit tests_fuzz
fi

say "ctest"
rm -rf "$build/ctest.xml" "$build/results" build/sanitized/results
mkdir -p "$build/results" build/sanitized/results
status=0
# Two more than there are CPUs: much of what runs waits, for the kernel to let go of a probe for example.
ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit ctest.xml --parallel "$(($(nproc) + 2))" "$@" || status=$?
[ -f "$build/ctest.xml" ] || die "no test was run (ctest: status $status); --whole has more"
"$(system_python)" scripts/test_summary.py "$build/ctest.xml" "$build/results" build/sanitized/results || status=1
exit "$status"
