#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests through ctest.
#
#   ./test.sh [--whole] [CTEST_OPTION...]      for example: ./test.sh -L unit
#
# --whole: every test on every EPICS Base, kernel and compiler; otherwise the older ones have a smoke test each, or none.
# With -L LABEL it installs, fetches and builds what the tests with that label need, and no more. Tests with the labels
# bpf, e2e, vm and package need root: called by a user, this asks sudo or doas at the beginning. The build stays the
# user's. The last line printed is "N passed, N failed, N skipped"; the exit status is 0 only when none failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case ${1:-} in
  -h | --help)
    sed -n '2,11s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac

whole=OFF
if [ "${1:-}" = --whole ]; then
  whole=ON
  shift
fi

# The expressions of ctest's -L: a test is run when each of them matches one of its labels.
expressions=()
for ((i = 1; i < $#; i++)); do
  case ${!i} in -L | --label-regex) i=$((i + 1)) && expressions+=("${!i}") ;; esac
done

# wanted LABEL...: is one of them selected?
wanted() {
  local label expression
  for label in "$@"; do
    for expression in ${expressions[@]+"${expressions[@]}"}; do
      grep -Eq -- "$expression" <<<"$label" || continue 2
    done
    return 0
  done
  return 1
}

# Has clang its compiler-rt, which the sanitizers and libFuzzer are part of?
can_sanitize() {
  echo 'int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) { return size && *data ? 0 : 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}

labels=()
for label in unit bpf e2e vm fuzz monitoring package lint; do
  if wanted $label; then labels+=("$label"); fi
done
[ ${#labels[@]} -gt 0 ] || die "no test has such a label"
if wanted bpf e2e vm package; then
  [ $whole = OFF ] || set -- --whole "$@"
  become_root "testing more than with -L unit, fuzz, monitoring or lint" "$PWD/test.sh" "$@"
  [ $whole = OFF ] || shift
fi
groups=(build)
# The unit tests alone need nothing that is built from source packages.
released=OFF
if [ "${labels[*]}" != unit ]; then
  groups+=(release)
  released=ON
fi
scripts/install-deps.sh "${groups[@]}" "${labels[@]}"
if [ $released = ON ] && ! scripts/fetch-sources.sh .cache/sources; then
  say "without these sources there is no TLS and no static binary: what tests them is skipped"
  released=OFF
fi
if wanted e2e vm monitoring; then scripts/make-test-env.sh .cache/test-env; fi

# Packages that only the tests need are installed while others compile.
fetch_rest() {
  if wanted monitoring; then
    scripts/make-drawing.sh .cache/draw
    scripts/make-helm.sh .cache/helm
  fi
  if wanted e2e; then scripts/make-prometheus-3.sh .cache/prometheus-3; fi
  if wanted vm; then
    kernels=(5.10 6.1 6.12-rt) # as tests/vm/CMakeLists.txt has it
    [ $whole = OFF ] || kernels=()
    scripts/make-vm-kernels.sh .cache/vm-kernels "" ${kernels[@]+"${kernels[@]}"}
    scripts/make-selinux-root.sh .cache/vm-kernels/selinux
  fi
  if wanted package; then
    scripts/make-release-roots.sh .cache/release-roots
    scripts/make-clean-root.sh .cache/clean-root
  fi
}
fetch_rest &
rest=$!
trap 'pkill -P "$rest" || true; kill "$rest" 2>/dev/null || true' EXIT

targets=()
if wanted package; then
  targets=(all)
else
  for label in unit bpf e2e; do
    if wanted $label; then targets+=("tests_$label"); fi
  done
  if wanted vm; then targets+=(tests_e2e); fi
fi

# Fuzz tests, and those of rooms that parse what others send or own threads, with sanitizers, unless only unit tests are
# asked for; the rest on what users get. The first of the tests makes that build, beside others.
sanitized=
if wanted fuzz e2e && can_sanitize; then
  sanitized=$PWD/build/sanitized
  configure build/sanitized -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DIOC_EXPORTER_SANITIZE=address,undefined -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=OFF \
    -DIOC_EXPORTER_UNITY=ON -DIOC_EXPORTER_BUNDLED_CIVETWEB=$released "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
fi
build=build
options=(-DIOC_EXPORTER_BENCH=OFF)
if [ ${#expressions[@]} -eq 0 ]; then options=(-DIOC_EXPORTER_BENCH=ON); fi
if [ "${labels[*]}" = unit ]; then
  # It matters that they are there soon, not how fast they are.
  build=build/unit
  options=(-DIOC_EXPORTER_BENCH=OFF -DCMAKE_BUILD_TYPE=None)
fi
configure "$build" -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_UNITY=ON -DIOC_EXPORTER_WHOLE=$whole "${options[@]}" -DIOC_EXPORTER_STATIC=$released \
  "-DIOC_EXPORTER_SANITIZED_BUILD=$sanitized" \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env" "-DIOC_EXPORTER_VM_KERNELS=$PWD/.cache/vm-kernels" \
  "-DIOC_EXPORTER_PROMETHEUS_3=$PWD/.cache/prometheus-3" "-DIOC_EXPORTER_RELEASE_ROOTS=$PWD/.cache/release-roots" \
  "-DIOC_EXPORTER_CLEAN_ROOT=$PWD/.cache/clean-root" "-DIOC_EXPORTER_HELM=$PWD/.cache/helm"
if [ ${#targets[@]} -gt 0 ]; then build_targets "$build" "${targets[@]}"; fi
wait "$rest" || die "what the tests need could not be fetched"
trap - EXIT

say "ctest"
rm -rf "$build"/ctest*.xml "$build/results" build/sanitized/results
mkdir -p "$build/results" build/sanitized/results
# run FILE OPTION...: by ctest, its results in FILE
run() {
  ctest --test-dir "$build" --output-on-failure --no-tests=error --output-junit "$@"
}
summary() {
  "$(system_python)" scripts/test_summary.py "$@" "$build/ctest.xml" "$build/results" build/sanitized/results
}
status=0
# Two more than there are CPUs: much of what runs waits, for the kernel to let go of a probe for example.
run ctest.xml --parallel "$(($(nproc) + 2))" "$@" || status=$?
[ -f "$build/ctest.xml" ] || die "ctest left no result (its status: $status)"
again=()
# On a slow machine that does much else a wait can run out. Alone it must hold; the summary says that it was repeated.
waits=$(summary --waits)
if [ -n "$waits" ]; then
  say "ctest, alone: $waits"
  status=0
  run ctest-again.xml -R "$waits" || status=$?
  again=(--again "$build/ctest-again.xml")
fi
summary ${again[@]+"${again[@]}"} || status=1
exit "$status"
