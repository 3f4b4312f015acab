#!/usr/bin/env bash
# Lays out the headers and libraries of another processor that a cross-build links with, from this host's own package
# sources: what scripts/install-deps.sh installs for this processor. Nothing is installed.
#
#   scripts/make-cross-root.sh ARCH DIRECTORY      ARCH: Debian's name, such as arm64
#
#   DIRECTORY/usr/         as on such a host
#   DIRECTORY/packages/    a file a package: what it has put there; .versions: of all
#
# An existing root is kept while this host's sources have the same versions.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 2 ] || die "usage: scripts/make-cross-root.sh ARCH DIRECTORY"
command -v apt-get >/dev/null || die "the libraries of $1 come from Debian's packages, and there is no apt-get"
arch=$1
mkdir -p "$(dirname "$2")"
root=$(cd "$(dirname "$2")" && pwd)/${2##*/}
work=$(mktemp -d "${root%/*}/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# apt-get with this host's package sources, as it were on an empty host of that processor.
apt_for() {
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  apt-get -q -q -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache="$work/cache" -o Dir::State::status=/dev/null -o Acquire::Languages=none -o APT::Sandbox::User=root \
    -o Debug::NoLocking=1 "$@"
}

# And a shell, for virtual machines.
packages="$("$(dirname "${BASH_SOURCE[0]}")/install-deps.sh" --names build | tr ' ' '\n' | grep -- '-dev$') busybox-static"
apt_for update || die "fetch the package lists of $arch: see above"
# shellcheck disable=SC2086 # words
apt_for install --no-install-recommends --print-uris $packages | awk '{ print $2 }' | LC_ALL=C sort >"$work/wanted"
[ -s "$work/wanted" ] || die "this host's package sources have no libraries of $arch"
if [ -e "$root/packages/.versions" ] && cmp --silent "$work/wanted" "$root/packages/.wanted"; then exit 0; fi

say "the libraries of $arch for the cross-build"
# shellcheck disable=SC2086
apt_for install --no-install-recommends --download-only -y $packages || die "download the libraries of $arch: see above"
mkdir -p "$work/root/packages" "$work/root/usr/lib"
ln -s usr/lib "$work/root/lib"
for package in "$work"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -xv -C "$work/root" --keep-directory-symlink |
    sed 's|^\./|/|' >"$work/root/packages/$(dpkg-deb -f "$package" Package)"
  # shellcheck disable=SC2016 # dpkg fills these in
  dpkg-deb --show --showformat '${Package}\t${Version}\t${source:Package}\t${source:Version}\n' "$package"
done >"$work/versions"
mv "$work/versions" "$work/root/packages/.versions"
# Within that root, links from its top lead out of it.
find "$work/root" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
  ln -sfr "$work/root$target" "$link"
done
cp "$work/wanted" "$work/root/packages/.wanted"
rm -rf "$root"
mv "$work/root" "$root"
