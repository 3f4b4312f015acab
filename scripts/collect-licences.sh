#!/usr/bin/env bash
# Collects what the authors of the libraries ask for that ioc_exporter_static is linked with, as Debian's packages say it.
#
#   scripts/collect-licences.sh BUILD_DIRECTORY TARGET_DIRECTORY
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 2 ] || die "usage: scripts/collect-licences.sh BUILD_DIRECTORY TARGET_DIRECTORY"
build=$1 target=$2
mkdir -p "$target/common"

# The archives that it is linked with, and what is compiled into it from headers alone. Those of a cross-build are in a
# root of scripts/make-cross-root.sh.
archives=$(xargs -a "$build/static_archives" readlink -f)
root=${archives%%/usr/lib/*}
if [ -n "$root" ]; then
  packages=$(cd "$root/packages" && while read -r archive; do
    grep -lxF -e "${archive#"$root"}" -- * || die "no package has $archive"
  done <<<"$archives" | sort -u)
else
  packages=$(xargs dpkg -S <<<"$archives" | sed 's/:.*//' | sort -u)
fi
for package in $packages libc6-dev libstdc++-12-dev libgcc-12-dev prometheus-cpp-dev nlohmann-json3-dev libcxxopts-dev \
  libprotozero-dev; do
  copyright=$root/usr/share/doc/$package/copyright
  # The compiler is the host's own.
  [ -e "$copyright" ] || copyright=/usr/share/doc/$package/copyright
  cp "$copyright" "$target/$package"
done
cp "$build/third_party/civetweb/LICENSE.md" "$target/civetweb"
cp "$build/third_party/curl/COPYING" "$target/curl"
cp "$build/third_party/c-ares/LICENSE.md" "$target/c-ares"
cp "$build/third_party/zydis/LICENSE" "$target/zydis"
cp "$build/third_party/spdlog/LICENSE" "$target/spdlog"
cp "$build/third_party/fmt/LICENSE.rst" "$target/fmt"
# Which those of Debian refer to.
grep -ohE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' -r "$target" | sort -u | while read -r text; do
  [ ! -f "$text" ] || cp "$text" "$target/common"
done
cat >"$target/README" <<'TEXT'
The libraries that ioc_exporter is linked with, statically, and what their authors ask for. Some (glibc, libelf,
libseccomp) are under the LGPL: the sources of this release, with scripts/make-release.sh, make it anew with other
versions of them.
TEXT
