# For the scripts beside this file that measure a real IOC with a load, bench/ioc_load.c: installs what is missing,
# builds, and becomes the program of the same name.
#
#   . bench/real_ioc.sh NAME [OPTION...]     bench/NAME.py with the options, and where the build and Base's files are
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

become_root "measuring" "$PWD/bench/$1.sh" "${@:2}"
scripts/install-deps.sh build test bench
scripts/make-test-env.sh .cache/test-env
configure_and_build build -DIOC_EXPORTER_TESTS=ON -DIOC_EXPORTER_BENCH=ON \
  "-DIOC_EXPORTER_TEST_ENV=$PWD/.cache/test-env"
[ -x build/bench/ioc_load ] || die "the load was not built: no EPICS Base for this machine"
exec "$(system_python)" "bench/$1.py" --build build --dbd .cache/test-env/base/7.0.10/epicscorelibs/dbd "${@:2}"
