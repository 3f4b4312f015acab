# For the tests of packages, in a copy of a system: to be sourced there, in a network of its own.
# shellcheck shell=bash
fail() { echo "FAILED: $*" >&2; exit 1; }
# Files with the program's name, and links to them.
files() { find /usr /etc /var -xdev \( -name '*ioc_exporter*' -o -name '*ioc-exporter*' \) ! -path '/var/lib/dpkg/*' ! -path '/var/cache/*' | sort; }

# serves PROGRAM OPTION...: it starts, says the same version at /metrics as by --version, and ends.
serves() {
  local log=/serves.log pid said version revision port answer i
  said=$("$1" --version) || fail "the program does not start"
  [[ $said =~ ^ioc_exporter\ ([^ ]+)\ \(revision\ ([^,]+),\  ]] || fail "--version says: $said"
  version=${BASH_REMATCH[1]} revision=${BASH_REMATCH[2]}
  : >"$log"
  "$@" --strict --ioc.include=none --no-collector.records --web.listen-address=127.0.0.1:0 2>"$log" &
  pid=$!
  for ((i = 0; i < 600; i++)); do
    ! grep -q "listening on" "$log" || break
    kill -0 $pid 2>/dev/null || fail "it has ended: $(cat "$log")"
    sleep 0.1
  done
  port=$(sed -En 's#.*listening on 127.0.0.1:([0-9]+).*#\1#p' "$log")
  exec 3<>"/dev/tcp/127.0.0.1/$port" || fail "it does not listen: $(cat "$log")"
  printf 'GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
  answer=$(cat <&3)
  exec 3<&-
  [[ $answer == *$'\n'"ioc_exporter_build_info{version=\"$version\",revision=\"$revision\","* ]] ||
    fail "--version says $version, $revision; /metrics: $(grep ^ioc_exporter_build_info <<<"$answer")"
  kill -TERM $pid
  wait $pid || fail "it ends with status $?: $(cat "$log")"
  rm "$log"
}
