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

# copy_of ROOT FOLDER: FOLDER/root, an overlay that is gone with the mount namespace; with devices and the host's /proc and /sys.
copy_of() {
  mount -t tmpfs tmpfs "$2" && mkdir "$2/upper" "$2/work" "$2/root"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root" || skip "no overlay file system"
  local place
  for place in proc sys dev; do mkdir -p "$2/root/$place" && mount --rbind /$place "$2/root/$place"; done
}

# dead_links DIRECTORY: the links in its documents to files that are not there.
dead_links() {
  local file link
  find -L "$1" -name '*.md' | while read -r file; do
    { grep -oE '\]\([^) #]+' "$file" || true; } | sed 's/^](//' | while read -r link; do
      [[ $link =~ ^[a-z]+: ]] || [ -e "$(dirname "$file")/$link" ] || echo "$file: $link"
    done
  done
}
