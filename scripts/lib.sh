# Functions of run.sh, test.sh and the scripts beside this file. To be sourced by bash, after set -euo pipefail.
# shellcheck shell=bash

say() { printf '==> %s\n' "$*"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# shellcheck source=scripts/progress.sh
. "$(dirname "${BASH_SOURCE[0]}")/progress.sh"

# The interpreter for virtual environments: the system's own before any that a PATH was taught.
system_python() {
  local python
  for python in /usr/bin/python3 python3; do
    if command -v "$python" >/dev/null; then
      command -v "$python"
      return
    fi
  done
  die "there is no python3; scripts/install-deps.sh installs it"
}

# Is the port free, for TCP and UDP, on every address of this host? (Connections that linger do not count.)
port_is_free() {
  ! awk -v port="$(printf ':%04X' "$1")" \
    'FNR > 1 && $4 != "06" && substr($2, length($2) - 4) == port { found = 1 } END { exit !found }' \
    /proc/net/tcp* /proc/net/udp*
}

# The first free port from $1 upwards, for servers that bind it themselves a moment later.
free_port_from() {
  local port
  for ((port = $1; port < $1 + 100; port++)); do
    if port_is_free "$port"; then
      echo "$port"
      return
    fi
  done
  die "no free port between $1 and $(($1 + 99))"
}

# doas says only by name who called it.
if [ -z "${SUDO_UID:-}" ] && [ -n "${DOAS_USER:-}" ]; then
  SUDO_UID=$(id -u "$DOAS_USER")
  SUDO_GID=$(id -g "$DOAS_USER")
fi

# root_tool WHAT: the program here that runs a command as root.
root_tool() {
  command -v sudo || command -v doas || die "$1 needs root, and there is neither sudo nor doas here: run it as root"
}

# become_root WHAT SCRIPT OPTION...: starts the script again as root, unless it runs as root.
become_root() {
  local tool what=$1
  [ "$(id -u)" -ne 0 ] || return 0
  shift
  tool=$(root_tool "$what") || exit 1
  say "$what needs root: asking ${tool##*/}"
  exec "$tool" "$@"
}

become_invoker() { setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID:-$SUDO_UID}" --clear-groups -- "$@"; }

# Did a user call sudo or doas, who can read these sources?
has_invoker() {
  [ "$(id -u)" -eq 0 ] && [ "${SUDO_UID:-0}" != 0 ] && become_invoker test -r "${BASH_SOURCE[0]}"
}

# as_invoker COMMAND...: as that user, where there is one: what needs no root gets none.
as_invoker() {
  if has_invoker; then HOME=$(getent passwd "$SUDO_UID" | cut -d : -f 6) become_invoker "$@"; else "$@"; fi
}

# hand_over DIRECTORY: what is there becomes his, also what root left when it was root's.
hand_over() {
  mkdir -p "$1"
  if has_invoker; then chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$1"; fi
}

# in_build WHAT DIRECTORY COMMAND...: as_invoker, with its output in the folder's log, which the invoker opens, too: root
# would follow a link there to any file.
in_build() {
  local what=$1 build=$2
  shift 2
  # shellcheck disable=SC2016 # the inner shell's
  with_progress "$what" "$build/build.log" \
    as_invoker sh -c 'log=$1; shift; exec "$@" >>"$log" 2>&1' sh "$build/build.log" "$@" || build_failed "$build"
}

# CMake refuses a build folder that was copied or moved.
forget_moved_build() { # DIRECTORY
  local cache=$1/CMakeCache.txt sources folder
  [ -f "$cache" ] || return 0
  sources=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  folder=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$cache")
  if ! [ "$sources" -ef . ] || ! [ "$folder" -ef "$1" ]; then
    say "$1/ was made as $folder: it is made anew"
    as_invoker find -H "$1" -mindepth 1 -delete
  fi
}

# configure DIRECTORY CMAKE_OPTION...: not again with the same options, unless somebody else has configured it; the build
# does that by itself when a file of CMake's has changed.
configure() {
  local build=$1 wanted="${*:2}"
  shift
  hand_over "${build%%/*}"
  as_invoker mkdir -p "$build"
  forget_moved_build "$build"
  as_invoker rm -f "$build/build.log"
  if [ -f "$build/CMakeCache.txt" ] && [ -f "$build/made-for" ] && ! [ "$build/CMakeCache.txt" -nt "$build/made-for" ] &&
    [ "$(cat "$build/made-for")" = "$wanted" ]; then return; fi
  in_build "configuring $build/" "$build" cmake -S . -B "$build" -G Ninja -DIOC_EXPORTER_UNITY=ON "$@"
  # shellcheck disable=SC2016 # the inner shell's
  as_invoker sh -c 'printf "%s\n" "$1" >"$2"' sh "$wanted" "$build/made-for"
}

build_targets() { # DIRECTORY TARGET...
  local build=$1
  shift
  say "building into $build/ (the first time takes minutes; output in $build/build.log)"
  in_build "building" "$build" cmake --build "$build" --target "$@"
}

build_failed() {
  tail -n 60 "$1/build.log" >&2
  die "the build failed; all of its output is in $1/build.log"
}

# configure_and_build DIRECTORY CMAKE_OPTION...
configure_and_build() {
  configure "$@"
  build_targets "$1" all
}

# http_get PORT PATH: the body of a page on this host; fails when there is no such server or page.
http_get() {
  local answer
  answer=$(
    exec 2>/dev/null 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$2" >&3
    timeout 5 cat <&3
  ) || return 1
  [[ $answer == HTTP/1.?" 200"* ]] || return 1
  printf '%s\n' "${answer#*$'\r\n\r\n'}"
}

# prometheus_graph_link PORT EXPRESSION: as a link to the graph of the last two minutes.
prometheus_graph_link() {
  local encoded
  encoded=$("$(system_python)" -c 'import sys, urllib.parse as u; print(u.quote(sys.argv[1]))' "$2")
  echo "http://localhost:$1/graph?g0.expr=$encoded&g0.tab=0&g0.range_input=2m"
}

# picture PROFILE FILE WIDTH,HEIGHT URL: of a page, by chromium (Debian: apt-get install chromium), whose settings and log
# go into the folder PROFILE.
picture() {
  local sandbox=()
  command -v chromium >/dev/null || die "there is no chromium in PATH"
  [ "$(id -u)" -ne 0 ] || sandbox=(--no-sandbox) # chromium as root starts only without
  rm -f "$2"
  timeout 60 chromium --headless "${sandbox[@]}" --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    "--user-data-dir=$1" --hide-scrollbars --blink-settings=preferredColorScheme=1 \
    --virtual-time-budget=8000 "--window-size=$3" "--screenshot=$2" "$4" \
    >"$1/chromium.log" 2>&1 || true # its status tells nothing, the picture does
  [ -s "$2" ] || { cat "$1/chromium.log" >&2 && die "no picture of $4"; }
  say "$2: $(stat -c %s "$2") bytes"
}
