#!/usr/bin/env bash
# Checks the form of the code: clang-format on everything, and clang-tidy with the short list of .clang-tidy.
#
#   scripts/lint.sh                   are all files formatted? Exit status 1 when not, with the places
#   scripts/lint.sh --fix             formats them
#   scripts/lint.sh --tidy [FILE...]  clang-tidy on these .cpp files (default: all of src/, some minutes a core),
#                                     after a build into build/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

# .clang-format holds the style of C++; bpf/.clang-format the kernel's, for C.
format() {
  find src tests bench bpf \( -name '*.cpp' -o -name '*.h' -o -path 'bpf/*.c' \) -print0 | xargs -0 clang-format "$@"
  find tests bench -name '*.c' -print0 | xargs -0 clang-format --style=file:bpf/.clang-format "$@"
}

case ${1:-} in
  '') format --dry-run --Werror ;;
  --fix) format -i ;;
  --tidy)
    shift
    [ -f build/compile_commands.json ] || die "clang-tidy needs build/compile_commands.json: build first"
    if [ $# -eq 0 ]; then mapfile -t files < <(find src -name '*.cpp'); else files=("$@"); fi
    printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 4 clang-tidy -p build --quiet
    ;;
  *) die "unknown option $1: see the head of this script" ;;
esac
