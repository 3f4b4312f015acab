#!/usr/bin/env bash
# Makes the test environment of a cross-build, once: EPICS Base for arm64, for which there is no wheel, from the source
# package of the newest one in tests/e2e/bases.txt.
#
#   scripts/make-cross-base.sh TEST_ENV ROOT DIRECTORY      TEST_ENV: of scripts/make-test-env.sh;
#                                                           ROOT: of scripts/make-cross-root.sh
#
#   DIRECTORY/venv                         that of TEST_ENV
#   DIRECTORY/base/VERSION/epicscorelibs   lib/, include/ and dbd/
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 3 ] || die "usage: scripts/make-cross-base.sh TEST_ENV ROOT DIRECTORY"
venv=$(cd "$1/venv" && pwd)
root=$(cd "$2" && pwd)
read -r name version < <(sed -n 's/^\([0-9][^ ]*\) \([^ ]*\) -$/\1 \2/p' "$(dirname "${BASH_SOURCE[0]}")/../tests/e2e/bases.txt")
mkdir -p "$3/base/$name"
directory=$(cd "$3" && pwd)
target=$directory/base/$name
ln -sfn "$venv" "$directory/venv"
[ "$(cat "$target/made-for" 2>/dev/null)" != "$version" ] || exit 0

say "EPICS Base $name for arm64 (source package $version; output in $target/log)"
work=$target/work
rm -rf "$work" "$target/epicscorelibs"
mkdir -p "$work"
{
  "$venv/bin/python" -m pip download --disable-pip-version-check --no-deps \
    --no-binary=epicscorelibs --dest "$work" "epicscorelibs==$version" &&
    tar -xf "$work"/*.tar.gz -C "$work" --strip-components=1 &&
    # Libcom, CA, the database and its record types; nothing of PV Access.
    sed -i 's/x_dsos = modules,/x_dsos = modules[:4],/' "$work/setup.py" &&
    (
      cd "$work" || exit
      export CC="aarch64-linux-gnu-gcc --sysroot=$root" CXX="aarch64-linux-gnu-g++ --sysroot=$root"
      export LDSHARED="$CXX -shared" LDCXXSHARED="$CXX -shared" CFLAGS=-O2
      NUM_JOBS=$(nproc) "$venv/bin/python" setup.py build_dso
    )
} >"$target/log" 2>&1 || {
  tail -n 40 "$target/log" >&2
  die "EPICS Base for arm64 could not be built; all of the output is in $target/log"
}
mv "$work"/build/lib*/epicscorelibs "$target/epicscorelibs"
rm -rf "$work"
printf '%s\n' "$version" >"$target/made-for"
