#!/usr/bin/env bash
# Makes a release, on Debian 12, whose static libraries the one binary is linked with; the same sources and packages give the
# same bytes, wherever they are. The sources are a git checkout: its commit gives the version, the revision and the date.
#
#   scripts/make-release.sh [--arch ARCH] [--build DIRECTORY] [--sign KEY] [OUTPUT_DIRECTORY]      output: dist/
#
#   ioc_exporter-VERSION.linux-ARCH.tar.gz       program, unit, manual, documents, alerts, dashboards
#   ioc-exporter_VERSION_ARCH.deb, .rpm          the same, for any Debian, Ubuntu, Fedora and RHEL
#   ioc_exporter-VERSION.linux-ARCH.oci.tar      image for containers
#   ioc_exporter-VERSION.linux-ARCH.spdx.json    bill of materials of the program
#   ioc_exporter-VERSION.mixin.tar.gz            alerts, rules and dashboards with settings, for jsonnet
#   ioc_exporter-VERSION.prometheusrule.yaml     alerts and rules for the Prometheus Operator
#   SHA256SUMS                                   of all files there; SHA256SUMS.asc: its signature, by --sign
#
#   --arch ARCH         amd64 or arm64; another one than this host's is built by Debian's cross-compiler, with Debian's
#                       libraries of it (scripts/make-cross-root.sh), and asked for its manual under qemu-user
#   --build DIRECTORY   take ioc_exporter_static from there (a build with -DIOC_EXPORTER_STATIC=ON) instead of building it
#   --sign KEY          sign with this key of gpg: its fingerprint, or name in the key ring
#
# IOC_EXPORTER_CONTACT: who publishes the packages, as "NAME <ADDRESS>"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

case $(uname -m) in
  x86_64) host=amd64 ;;
  aarch64) host=arm64 ;;
  *) host=$(uname -m) ;;
esac
arch=$host build= key=
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:-} ;;
    --build) build=${2:-} ;;
    --sign) key=${2:-} ;;
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

if [ -n "$key" ]; then
  gpg --batch --list-secret-keys "$key" >/dev/null || die "sign the release with $key: gpg has no such secret key"
fi
[ -n "$build" ] || scripts/install-deps.sh build release
no_checkout="a release needs a git checkout of the sources, not only their files: the commit gives its revision and date"
checkout=$(as_invoker git rev-parse --show-toplevel) || die "$no_checkout"
[ "$checkout" -ef . ] || die "$no_checkout"
seconds=$(as_invoker git log -1 --format=%ct) || die "$no_checkout"

if [ -z "$build" ]; then
  options=(-DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=OFF -DIOC_EXPORTER_STATIC=ON
    "-DIOC_EXPORTER_CONTACT=${IOC_EXPORTER_CONTACT:-}")
  build=build/release
  if [ "$arch" != "$host" ]; then
    scripts/install-deps.sh cross
    scripts/make-cross-root.sh "$arch" ".cache/cross/$arch"
    build=build/release-$arch
    options+=("-DCMAKE_TOOLCHAIN_FILE=cmake/linux-$arch.cmake")
  fi
  configure "$build" "${options[@]}"
  build_targets "$build" ioc_exporter_static manual
fi
binary=$build/ioc_exporter_static
[ -x "$binary" ] || die "there is no $binary: build with -DIOC_EXPORTER_STATIC=ON"

version=$("${run[@]}" "$binary" --version)
[[ $version =~ ^ioc_exporter\ ([^ ]+)\ \(revision\ ([0-9a-f]+) ]] ||
  die "$binary was built without the revision of its sources: build again, with git. It says: $version"
version=${BASH_REMATCH[1]} revision=$(as_invoker git rev-parse HEAD)
[[ $revision = "${BASH_REMATCH[2]}"* ]] ||
  die "$binary was built from revision ${BASH_REMATCH[2]}, the documents and rules here are of ${revision:0:12}: build again"
name=ioc_exporter-$version.linux-$arch
mkdir -p "$output"
output=$(cd "$output" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/$name

# In one order, of one time, of nobody.
pack() { # FILE TAR_OPTION... ENTRY
  local file=$1
  shift
  tar --create --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX --format=gnu "$@" |
    gzip -9n >"$output/$file"
}

scripts/copy-documents.sh "$top"
install -m 755 "$binary" "$top/ioc_exporter"
scripts/make-man-page.sh "${run[@]}" "$binary" >"$top/ioc_exporter.8"
cp packaging/ioc_exporter.bash-completion "$top/ioc_exporter.bash"
sed 's|@IOC_EXPORTER_PROGRAM@|/usr/local/sbin/ioc_exporter|' packaging/ioc_exporter.service.in >"$top/ioc_exporter.service"
cp packaging/ioc_exporter.sysusers packaging/ioc_exporter.default "$top"
cp -r alerts dashboards functions mixin "$top"
mkdir "$top/packaging"
cp -r packaging/{kubernetes,compose,rsyslog,recipes,selinux} "$top/packaging"
find "$top/dashboards" "$top/alerts" \( -name '*test*' -o -name '*.py' -o -name requirements.txt -o -name .lint -o -name draw \
  -o -name source \) -prune -exec rm -rf {} +
rm -rf "$top/mixin/__pycache__"
sed -i "s|localhost/ioc_exporter:.*|localhost/ioc_exporter:${version//+/_}|" "$top"/packaging/{kubernetes/daemonset,compose/compose}.y*ml
{
  sed -n '/^kind:/,/^spec:/{s/ServiceMonitor/PrometheusRule/;p}; /^apiVersion:/p' packaging/kubernetes/servicemonitor.yaml
  echo "  groups:"
  sed '/^#/d; /^groups:$/d; s/^./    &/' alerts/*.yml
} >"$top/packaging/kubernetes/prometheusrule.yaml"
cp "$top/packaging/kubernetes/prometheusrule.yaml" "$output/ioc_exporter-$version.prometheusrule.yaml"
scripts/collect-licences.sh "$build" "$top/licences"
scripts/make-sbom.sh "$binary" "$version" "$arch" "$seconds" "$top/licences" >"$output/$name.spdx.json"
(cd "$top" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
pack "$name.tar.gz" --directory "$work" "$name"
mixin=ioc_exporter-$version.mixin
pack "$mixin.tar.gz" --directory "$top" --transform "s,^,$mixin/," LICENSE dashboards mixin
scripts/make-image.sh "$output/$name.tar.gz"

mkdir "$work/packages"
for kind in DEB RPM; do
  (cd "$build" && SOURCE_DATE_EPOCH=$seconds cpack -G $kind -B "$work/packages") >"$work/log" 2>&1 ||
    die "make the package $kind: $(cat "$work/log")"
done
mv "$work"/packages/*.{deb,rpm} "$output"

cd "$output"
find . -maxdepth 1 -type f ! -name 'SHA256SUMS*' -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS
rm -f SHA256SUMS.asc
[ -z "$key" ] || gpg --batch --local-user "$key" --armor --output SHA256SUMS.asc --detach-sign SHA256SUMS
say "made $output: $(find . -maxdepth 1 -type f | wc -l) files of $version for $arch"
