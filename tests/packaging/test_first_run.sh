#!/usr/bin/env bash
# The README's commands, and the first of them run where nothing is installed: ./run.sh as root without sudo, in a clean root of
# Debian, until the demo's metrics are there; then Ctrl-C. Packages come from folders of scripts/make-clean-root.sh. The build
# folder is the suite's, so that little is compiled; nothing of it, or of this host, is changed. The exporter looks at the
# demo's IOC only: others are those of tests that run meanwhile.
#
#   test_first_run.sh BUILD_DIR CLEAN_ROOT_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/lib.sh"
project=$(cd "$here/../.." && pwd)

# The first word of each line in the README's block "From the sources", and its options.
readme_commands() { sed -n '/From the sources/,/^## /s/^\(\(\.\/\|scripts\/\)[^#]*[^# ]\) *#.*/\1/p' "$project/README.md"; }

lay_out_root() { # ROOT CLEAN_ROOT FOLDER
  local root=$1 clean=$2 folder=$3
  mkdir "$root"
  tar -x -f "$clean/root.tar" -C "$root"
  mkdir -p "$root/debs" "$root/wheels" "$root$project"
  mount --bind "$clean/debs" "$root/debs"
  mount --bind "$clean/wheels" "$root/wheels"
  echo "deb [trusted=yes] copy:///debs ./" >"$root/etc/apt/sources.list"
  printf '[global]\nno-index = true\nfind-links = /wheels\n' >"$root/etc/pip.conf"
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/test"
  for place in proc sys dev; do mount --rbind /$place "$root/$place"; done
  mkdir "$folder/over"
  mount -t tmpfs tmpfs "$folder/over"
  mkdir "$folder/over/upper" "$folder/over/work"
  mount -t overlay overlay -o "lowerdir=$project,upperdir=$folder/over/upper,workdir=$folder/over/work" "$root$project" ||
    skip "no overlay file system"
  rm -rf "$root$project/.cache" # the real one stays: it is below the overlay
  # The suite's build has more than what run.sh asks for.
  sed -i '/^IOC_EXPORTER_STATIC:/s/=.*/=OFF/' "$root$project/build/CMakeCache.txt"
}

metrics() { (exec 3<>/dev/tcp/127.0.0.1/10064 && printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3 && cat <&3) 2>/dev/null; }

inside() { # FOLDER CLEAN_ROOT COMMAND: in namespaces of its own
  local folder=$1 root=$1/root log=$1/log run page files
  ip link set lo up
  lay_out_root "$root" "$2" "$folder"
  for program in sudo doas git cmake prometheus; do
    ! chroot "$root" sh -c "command -v $program" || fail "the clean root has $program"
  done
  # Job control: otherwise Ctrl-C is ignored by what runs in the background.
  set -m
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    chroot "$root" sh -c "cd '$project' && exec $3 -- --ioc.include=demo-ring" >"$log" 2>&1 </dev/null &
  run=$!
  set +m
  trap 'kill -TERM "$run" 2>/dev/null && wait "$run" || true' EXIT
  until grep -q "running until Ctrl-C" "$log"; do
    kill -0 "$run" 2>/dev/null || fail "$3 has ended: $(tail -n 60 "$log")"
    sleep 0.5
  done
  page=$(metrics)
  for series in 'epics_ioc_up{ioc="demo-ring"} 1' 'epics_record_process_total{ioc="demo-ring",record="SR:Cycle",' \
    'user="operator"' 'ioc_exporter_policy_puts_total{'; do
    holds "$page" "$series"
  done
  holds "$(cat "$log")" "amtool alert --alertmanager.url=http://127.0.0.1:9093"
  holds "$(chroot "$root" amtool alert --alertmanager.url=http://127.0.0.1:9093 2>&1)" Alertname
  # Files of a room are compiled together, as in the suite's build: otherwise a first run takes three times as long.
  files=$(sed -n 's/^\[[0-9]*\/\([0-9]*\)\].*/\1/p' "$root$project/build/build.log" | tail -n 1)
  [ "${files:-0}" -lt 100 ] || fail "run.sh compiles $files files, not those of the suite's build"
  kill -INT -- "-$run"
  wait "$run" || status=$?
  trap - EXIT
  is "the status after Ctrl-C" 130 "${status:-0}"
  left=$({ find /proc/[0-9]*/root -maxdepth 0 -lname "$root" 2>/dev/null || true; } | cut -d / -f 3) # some end meanwhile
  [ -z "$left" ] || fail "left: $(for pid in $left; do tr '\0' ' ' <"/proc/$pid/cmdline"; done)"
  is "lines that are not the script's own" "" "$(grep -vE '^(==> .+|  .+|)$' "$log" || true)"
  sed -n '/files built\|building: done\|installing packages: done/p' "$log"
}
if [ "${1:-}" = inside ]; then
  shift
  inside "$@"
  exit
fi

build=$1 clean=${2:-}
commands=$(readme_commands)
is "the README's commands" "./run.sh ./test.sh scripts/make-release.sh" "${commands//$'\n'/ }"
for command in $commands; do
  [ -x "$project/$command" ] || fail "there is no $command"
done
[ "$(id -u)" -eq 0 ] || skip "only root can make a clean root"
[ "$build" -ef "$project/build" ] || skip "run.sh builds in build/, not in $build: all would be compiled once more"
[ -f "$clean/made-for" ] || skip "there is no clean root (scripts/make-clean-root.sh)"
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
unshare --mount --net --propagation private "$0" inside "$folder" "$clean" "${commands%%$'\n'*}"
