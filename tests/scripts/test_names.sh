#!/usr/bin/env bash
# scripts/install-deps.sh --names build: the same packages each time, with an apt-cache that writes more than a pipe holds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/apt-cache" <<'STUB'
#!/bin/bash
[ "$1" = show ] || exit 0
printf 'Package: %s\nFilename: pool/%s.deb\n' "$2" "$2"
for _ in {1..10000}; do echo "Description: more than a pipe holds"; done
STUB
printf '#!/bin/sh\nexit 1\n' >"$work/dpkg-query" # nothing is installed
chmod +x "$work/apt-cache" "$work/dpkg-query"

names() { PATH=$work:$PATH "$here/../../scripts/install-deps.sh" --names build; }
first=$(names)
holds " $first " " bpftool "
for _ in {2..20}; do is "the packages, asked again" "$first" "$(names)"; done
