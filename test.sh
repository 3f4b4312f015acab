#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests through ctest.
#
#   sudo ./test.sh [CTEST_OPTION...]      for example: ./test.sh -L unit
#
# Without root the tests that need it are skipped, and say so. The last line printed is
# "N passed, N failed, N skipped"; the exit status is 0 only when none failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case ${1:-} in
  -h | --help)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

# With the CPU time that the build and the tests leave: the tests that run it come last, and wait for it.
build_prometheus_3() {
  local directory=.cache/prometheus-3
  [ "$(id -u)" -eq 0 ] || return 0 # those tests need root, too
  mkdir -p "$directory"
  set -m # a process group, to end it whole; no session, where being nice would be of no use (autogroup)
  # One CPU: the tests that run meanwhile have the others.
  GOMAXPROCS=1 nice -n 19 scripts/make-prometheus-3.sh "$directory" </dev/null >"$directory/log" 2>&1 &
  set +m
  trap 'kill %1 2>/dev/null || true' EXIT
}

# Has clang its compiler-rt, which the sanitizers and libFuzzer are part of?
can_sanitize() {
  echo 'int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) { return size && *data ? 0 : 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}

scripts/install-deps.sh build test
scripts/make-test-env.sh .cache/test-env
scripts/make-vm-kernels.sh .cache/vm-kernels
build_prometheus_3

# The unit and fuzz tests with sanitizers; the rest on what users get.
sanitized=
if can_sanitize; then
  sanitized=$PWD/build/sanitized
  configure_and_build build/sanitized -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DIOC_EXPORTER_SANITIZE=address,undefined -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=OFF
fi
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON "-DIOC_EXPORTER_SANITIZED_BUILD=$sanitized" \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env" "-DIOC_EXPORTER_VM_KERNELS=$PWD/.cache/vm-kernels" \
  "-DIOC_EXPORTER_PROMETHEUS_3=$PWD/.cache/prometheus-3"

say "ctest"
rm -f build/ctest.xml
status=0
# The tests that must be alone say so themselves (RUN_SERIAL).
ctest --test-dir build --parallel "$(nproc)" --output-on-failure --no-tests=error \
  --output-junit ctest.xml "$@" || status=$?
[ -f build/ctest.xml ] || die "ctest left no result (its status: $status)"
"$(system_python)" scripts/test_summary.py build/ctest.xml || status=1
exit "$status"
