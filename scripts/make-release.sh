#!/usr/bin/env bash
# Makes a release: ioc_exporter-VERSION.linux-ARCH.tar.gz, with one static binary that needs nothing of its host, and
# SHA256SUMS beside it. On Debian 12, whose static libraries it is linked with; the same sources and packages give the
# same bytes, wherever they are. The sources are a git checkout: its commit gives the revision and the date in the archive.
#
#   scripts/make-release.sh [--arch ARCH] [--build DIRECTORY] [OUTPUT_DIRECTORY]      output: dist/
#
#   --arch ARCH         amd64 or arm64; another one than this host's is built by Debian's cross-compiler, with Debian's
#                       libraries of it (scripts/make-cross-root.sh), and asked for its manual under qemu-user
#   --build DIRECTORY   take ioc_exporter_static from there (a build with -DIOC_EXPORTER_STATIC=ON) instead of building it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case $(uname -m) in
  x86_64) host=amd64 ;;
  aarch64) host=arm64 ;;
  *) host=$(uname -m) ;;
esac
arch=$host build=
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:-} ;;
    --build) build=${2:-} ;;
    *) break ;;
  esac
  [ -n "${2:-}" ] || die "$1 wants a value"
  shift 2
done
output=${1:-dist}
run=()
if [ "$arch" != "$host" ]; then
  [ "$arch" = arm64 ] || die "this host builds for $host and arm64, not for $arch"
  run=(qemu-aarch64-static)
fi

[ -n "$build" ] || scripts/install-deps.sh build release
no_checkout="a release needs a git checkout of the sources, not only their files: the commit gives its revision and date"
checkout=$(as_invoker git rev-parse --show-toplevel) || die "$no_checkout"
[ "$checkout" -ef . ] || die "$no_checkout"
seconds=$(as_invoker git log -1 --format=%ct) || die "$no_checkout"

if [ -z "$build" ]; then
  options=(-DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=OFF -DIOC_EXPORTER_STATIC=ON)
  build=build/release
  if [ "$arch" != "$host" ]; then
    scripts/install-deps.sh cross
    scripts/make-cross-root.sh "$arch" ".cache/cross/$arch"
    build=build/release-$arch
    options+=("-DCMAKE_TOOLCHAIN_FILE=cmake/linux-$arch.cmake")
  fi
  configure "$build" "${options[@]}"
  build_targets "$build" ioc_exporter_static
fi
binary=$build/ioc_exporter_static
[ -x "$binary" ] || die "there is no $binary: build with -DIOC_EXPORTER_STATIC=ON"

version=$("${run[@]}" "$binary" --version)
[[ $version =~ ^ioc_exporter\ ([^ ]+)\ \(revision\ [0-9a-f]+ ]] ||
  die "$binary was built without the revision of its sources: build again, with git. It says: $version"
version=${BASH_REMATCH[1]}
name=ioc_exporter-$version.linux-$arch
mkdir -p "$output"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/$name
mkdir -p "$top/docs"

install -m 755 "$binary" "$top/ioc_exporter"
"${run[@]}" "$binary" --help-man >"$top/ioc_exporter.8"
"${run[@]}" "$binary" --completion-script-bash >"$top/ioc_exporter.bash"
sed 's|@IOC_EXPORTER_PROGRAM@|/usr/local/sbin/ioc_exporter|' packaging/ioc_exporter.service.in >"$top/ioc_exporter.service"
cp packaging/ioc_exporter.sysusers packaging/ioc_exporter.default LICENSE README.md CHANGELOG.md "$top"
cp -r LICENSES alerts dashboards "$top"
cp -r docs/*.md docs/*.yml docs/runbooks "$top/docs"
mkdir "$top/packaging"
cp -r packaging/kubernetes packaging/compose packaging/ansible packaging/rsyslog "$top/packaging"
find "$top/dashboards" "$top/alerts" \( -name '*test*' -o -name '*.py' -o -name requirements.txt -o -name .lint -o -name draw \
  -o -name source \) -prune -exec rm -rf {} +

scripts/collect-licences.sh "$build" "$top/licences"

# In one order, of one time, of nobody.
(cd "$top" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
tar --create --directory "$work" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner \
  --mode=u+rw,go=rX --format=gnu "$name" | gzip -9n >"$output/$name.tar.gz"
touch "$output/SHA256SUMS"
sums=$(cd "$output" && { grep -v "  $name.tar.gz\$" SHA256SUMS || true; } && sha256sum "$name.tar.gz")
printf '%s\n' "$sums" >"$output/SHA256SUMS"
say "made $output/$name.tar.gz ($(stat -c %s "$output/$name.tar.gz") bytes)"
