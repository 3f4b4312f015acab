#!/usr/bin/env bash
# Cross-builds for arm64 and tests it on Debian's kernels in emulated machines: unit tests of what differs between
# processors, the tests of the programs in the kernel, and a real IOC whose records and puts are counted exactly. Not part
# of test.sh: it builds everything once more.
#
#   scripts/test-arm64.sh [SERIES...]      kernels, of tests/vm/kernels.txt; by default 6.1 and 6.12
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -gt 0 ] || set -- 6.1 6.12
become_root "testing in machines" "$PWD/scripts/test-arm64.sh" "$@"
build=build/arm64 root=.cache/cross/arm64 kernels=.cache/vm-kernels-arm64 environment=.cache/test-env-arm64
scripts/install-deps.sh build release cross vm vm-arm64
scripts/fetch-sources.sh .cache/sources
scripts/make-cross-root.sh arm64 $root
scripts/make-test-env.sh .cache/test-env
scripts/make-cross-base.sh .cache/test-env $root $environment
scripts/make-vm-kernels.sh $kernels arm64 "$@"

configure $build -DCMAKE_TOOLCHAIN_FILE=cmake/linux-arm64.cmake -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=OFF \
  -DIOC_EXPORTER_STATIC=ON "-DIOC_EXPORTER_TEST_ENV=$PWD/$environment" "-DIOC_EXPORTER_VM_KERNELS=$PWD/$kernels"
build_targets $build ioc_exporter_static unit_elf unit_iocs unit_kernel unit_records bpf_ca_server_probe bpf_pva_server_probe \
  bpf_record_process fake_ioc ioc_launcher_7.0.10 ca_flood

say "virtual machines"
expression=$(printf '|%s' "$@")
expression=${expression//./\\.}
ctest --test-dir $build --output-on-failure --no-tests=error -R "^vm\.(programs|kernel)\[(${expression#|})\]\$"
