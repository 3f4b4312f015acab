#!/usr/bin/env bash
# Makes docs/pictures/trace-zipkin.png again: a put of the demo's operator in Zipkin's own page. To be run beside a demo that
# sends its traces:
#
#   ./run.sh --demo -- --collector.putlog --collector.traces --traces.rate=20 --traces.zipkin=http://localhost:9411
#   scripts/make-trace-picture.sh [PORT]      default: 9411
#
# Starts Zipkin on that port (its jar is that of the end-to-end tests: scripts/make-java.sh), waits for a put that set
# most in motion, and takes the picture, which is to be looked at before it is committed. Needs Java, Maven, chromium.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ $# -le 1 ] || die "usage: scripts/make-trace-picture.sh [PORT]"
port=${1:-9411}
jar=.cache/test-env/java/zipkin.jar

[ -e "$jar" ] || scripts/make-java.sh .cache/test-env/java
[ -e "$jar" ] || die "there is no $jar: install a JDK and Maven"
port_is_free "$port" || die "port $port is in use"
work=$(mktemp -d -t ioc_exporter-trace.XXXXXX)
QUERY_PORT=$port java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -jar "$jar" >"$work/zipkin.log" 2>&1 &
zipkin=$!
trap 'kill "$zipkin" 2>/dev/null; rm -rf "$work"' EXIT
until http_get "$port" /health >/dev/null; do
  kill -0 "$zipkin" 2>/dev/null || { cat "$work/zipkin.log" >&2 && die "Zipkin has ended"; }
  sleep 0.2
done

# Of the puts, the trace with the most spans; "" while none has MOST.
readonly most=3
largest() {
  http_get "$port" "/api/v2/traces?annotationQuery=epics.span%3Dput&limit=1000" |
    "$(system_python)" -c '
import json, sys
trace = max(json.load(sys.stdin), key=len, default=[])
print(trace[0]["traceId"] if len(trace) >= int(sys.argv[1]) else "")' "$most"
}
say "waiting for a put that makes $((most - 1)) records process"
for _ in $(seq 180); do
  trace=$(largest)
  [ -z "$trace" ] || break
  sleep 1
done
[ -n "$trace" ] || die "no such put came: does the demo run with --collector.traces and --traces.zipkin=http://localhost:$port?"
picture "$work" docs/pictures/trace-zipkin.png 1300,760 "http://localhost:$port/zipkin/traces/$trace"
