# How far a long step is, for lib.sh.
# shellcheck shell=bash

duration() { # SECONDS
  if (($1 < 60)); then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}

# how_far LOG: what the log of ninja or of apt-get says last; nothing at the beginning.
how_far() {
  awk '
    match($0, /^\[[0-9]+\/[0-9]+\]/) { split(substr($0, 2, RLENGTH - 2), of, "/"); said = of[1] " of " of[2] " files" }
    /^[0-9]+ upgraded, [0-9]+ newly installed/ { all = $1 + $3 }
    all && /^Get:/ { said = ++fetched " of " all " fetched" }
    /^Unpacking / { said = ++unpacked " of " all " unpacked" }
    /^Setting up / { said = ++set_up " of " all " set up" }
    END { if (said) print ", " said }' "$1" 2>/dev/null || true
}

# Until its input ends: a line that moves on a terminal, elsewhere one each half minute.
tell_progress() { # WHAT LOG
  local begin=$SECONDS told=0 passed line
  until read -rt 1 || (($? <= 128)); do # more: nothing came within the second
    passed=$((SECONDS - begin))
    line="$1$(how_far "$2"), $(duration $passed)"
    if [ -t 1 ]; then
      printf '\r\033[K==> %s' "$line"
    elif ((passed - told >= 30)); then
      say "$line"
      told=$passed
    fi
  done
}

# with_progress WHAT LOG COMMAND...: runs the command, which writes the log, and says how far it is. No signal ends what
# says it: bash runs the script's own traps in a child that a signal meets at its start.
with_progress() {
  local what=$1 log=$2 begin=$SECONDS status=0 teller
  shift 2
  exec 9> >(tell_progress "$what" "$log")
  teller=$!
  "$@" 9>&- || status=$?
  exec 9>&-
  wait "$teller" || true
  [ ! -t 1 ] || printf '\r\033[K'
  [ $status -ne 0 ] || say "$what: done, $(duration $((SECONDS - begin)))"
  return $status
}
