#!/usr/bin/env bash
# Copies README.md, CHANGELOG.md, SECURITY.md, the licences and docs/ for a release, without links to what only the sources have.
#
#   scripts/copy-documents.sh TARGET_DIRECTORY           as they lie here
#   scripts/copy-documents.sh --flat TARGET_DIRECTORY    what is in docs/ lies beside README.md, as packages have it
set -euo pipefail
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
flat=
if [ "${1:-}" = --flat ]; then
  flat=yes
  shift
fi
[ $# -eq 1 ] || { echo "usage: scripts/copy-documents.sh [--flat] TARGET_DIRECTORY" >&2 && exit 2; }
target=$1
docs=$target${flat:+/.}
[ -n "$flat" ] || docs=$target/docs
mkdir -p "$docs"
cp -r "$project"/docs/. "$docs"
cp -r "$project"/{README.md,CHANGELOG.md,SECURITY.md,LICENSE,LICENSES} "$target"

only_sources='(\.\./)*(CONTRIBUTING\.md|bench/|third_party/|tests/|scripts/|src/|bpf/)[^)]*'
expressions=(-e "s,\[([^]]*)\]\($only_sources\),\1,g")
if [ -n "$flat" ]; then
  sed -Ei 's,\]\(docs/,](,g' "$target"/{README,CHANGELOG,SECURITY}.md
  expressions+=(-e 's,\]\(\.\./,](,g')
fi
find "$docs" "$target/README.md" "$target/CHANGELOG.md" -name '*.md' ! -path '*/runbooks/*' -exec sed -Ei "${expressions[@]}" {} +
[ -z "$flat" ] || find "$docs/runbooks" -name '*.md' -exec sed -Ei 's,\]\(\.\./\.\./,](../,g' {} +
chmod -R u=rwX,go=rX "$target"
