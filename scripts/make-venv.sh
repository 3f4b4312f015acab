#!/usr/bin/env bash
# Makes a Python virtual environment with exactly what a requirements file pins, by hash where it has hashes; does
# nothing when it is already there for this file.
#
#   scripts/make-venv.sh DIRECTORY REQUIREMENTS
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 2 ] || die "usage: scripts/make-venv.sh DIRECTORY REQUIREMENTS"
directory=$1
requirements=$2
python=$(system_python)
wanted=$("$python" --version && cat "$requirements")

if [ -x "$directory/bin/python" ] && [ "$(cat "$directory/made-for" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
say "Python packages into $directory"
rm -rf "$directory"
mkdir -p "$(dirname "$directory")"
"$python" -m venv "$directory"
hashes=()
if grep -q -e --hash= "$requirements"; then hashes=(--require-hashes); fi
"$directory/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
  "${hashes[@]}" -r "$requirements" || die "pip could not install what $requirements pins"
printf '%s\n' "$wanted" >"$directory/made-for"
