#!/usr/bin/env bash
# scripts/progress.sh: how far ninja and apt-get are, by their logs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
# shellcheck source=scripts/lib.sh
. "$here/../../scripts/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

says() { is "after: $(tail -n 1 "$log")" "$1" "$(how_far "$log")"; }
: >"$log"
says ""
printf '%s\n' '[1/390] Building CXX object a.o' '[23/390] Building CXX object b.o' 'b.cpp: In function' >"$log"
says ", 23 of 390 files"
printf '%s\n' 'Get:1 http://deb.debian.org bookworm InRelease [151 kB]' >"$log"
says ""
printf '%s\n' '2 upgraded, 3 newly installed, 0 to remove and 7 not upgraded.' 'Get:1 http://a' 'Get:2 http://b' >>"$log"
says ", 2 of 5 fetched"
printf '%s\n' 'Unpacking a (1) ...' >>"$log"
says ", 1 of 5 unpacked"
printf '%s\n' 'Setting up a (1) ...' 'Setting up b (1) ...' 'Setting up c (1) ...' >>"$log"
says ", 3 of 5 set up"
is "seconds" "59 s" "$(duration 59)"
is "minutes" "2 min 3 s" "$(duration 123)"

is "what it says of a command" "==> a step: done, 0 s" "$(SECONDS=0 && with_progress "a step" "$log" true)"
status=0
with_progress "a step" "$log" sh -c 'exit 23' || status=$?
is "the status of a command" 23 "$status"

# All that a script with run.sh's traps prints while steps end at once.
said=$(bash -c '. "$1"
  trap end_all EXIT
  trap "exit 143" TERM
  for _ in $(seq 200); do with_progress "a step" "$2" true; done' steps "$here/../../run.sh" "$log" 2>&1)
is "all that 200 steps print" "$(printf '==> a step: done%.0s\n' $(seq 200))" "$(sed 's/, [0-9]* s$//' <<<"$said")"
