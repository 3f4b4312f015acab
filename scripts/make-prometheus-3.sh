#!/usr/bin/env bash
# Fetches a Prometheus 3 for the end-to-end tests, once, from this host's own Debian mirror; Debian 12 has only
# Prometheus 2. Nothing is installed.
#
#   scripts/make-prometheus-3.sh DIRECTORY
#
#   DIRECTORY/prometheus    the server, from the package of a later release
#   DIRECTORY/skipped       instead: why there is none here
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || die "usage: scripts/make-prometheus-3.sh DIRECTORY"
mkdir -p "$1"
directory=$(cd "$1" && pwd)
# shellcheck source=scripts/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"
suite=forky

[ ! -x "$directory/prometheus" ] || exit 0
skip() {
  echo "no Prometheus 3: $1" >"$directory/skipped"
  say "no Prometheus 3: $1"
  exit 0
}
uri=$(mirror)
if [ -z "$uri" ] || [ ! -r "$keyring" ]; then skip "this host's package sources are not Debian's"; fi

say "Prometheus 3 of Debian's $suite"
trap 'rm -rf "${work:-}"; end_debian' EXIT
update "$suite"
download "$suite" prometheus
dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -x -C "$work" ./usr/bin/prometheus
# It takes a C library of its time.
version=$("$work/usr/bin/prometheus" --version 2>&1) || skip "that of Debian's $suite does not run here"
version=${version%%$'\n'*}
case $version in
  *"version 3."*) say "$version" ;;
  *) skip "that of Debian's $suite is another: $version" ;;
esac
rm -f "$directory/skipped"
mv "$work/usr/bin/prometheus" "$directory/prometheus"
