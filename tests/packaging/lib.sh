# For the tests of packages: `fail`, `skip`, `is`, and packages in a folder of their own.
fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }
# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""; }
holds() { case "$1" in *"$2"*) ;; *) fail "\"$2\" is not in: $1" ;; esac; }

make_package() { # BUILD_DIR GENERATOR FOLDER
  (cd "$1" && cpack -G "$2" -B "$3") >"$3/cpack.log" 2>&1 || { cat "$3/cpack.log"; fail "cpack -G $2"; }
}
