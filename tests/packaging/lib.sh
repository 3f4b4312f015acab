# For the tests of packages: `fail`, `skip`, `is`, and packages in a folder of their own.
fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "SKIPPED: $*"; exit 77; }
# is WHAT EXPECTED ACTUAL
is() { [ "$2" = "$3" ] || fail "$1: expected \"$2\", found \"$3\""; }
holds() { case "$1" in *"$2"*) ;; *) fail "\"$2\" is not in: $1" ;; esac; }

make_package() { # BUILD_DIR GENERATOR FOLDER CPACK_OPTION...
  local build=$1 generator=$2 folder=$3
  shift 3
  (cd "$build" && cpack -G "$generator" -B "$folder" "$@") >"$folder/cpack.log" 2>&1 ||
    { cat "$folder/cpack.log"; fail "cpack -G $generator"; }
}

# copy_of_this_machine FOLDER: FOLDER/root, an overlay that is gone with the mount namespace.
copy_of_this_machine() {
  mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || skip "no overlay file system"
  mount -t proc proc "$1/root/proc"
}
