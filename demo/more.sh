#!/usr/bin/env bash
# More IOCs beside the demo, each with an operator, so that dashboards show several:
#
#   demo/more.sh [RING...]      default: BO TL, beside a ./run.sh --demo; until it is ended
#
# They are the demo's IOC with PVs that begin with RING. One that is called LI ends after eleven minutes, by SIGSEGV: one that
# ran for less would leave the exporter's page five minutes later.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

python=$PWD/.cache/demo-venv/bin/python
[ -x "$python" ] || die "there is no $python: start ./run.sh --demo first"
work=$(mktemp -d -t ioc_exporter-more.XXXXXX)
pids=()
end_all() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap end_all EXIT
trap 'exit 143' TERM INT HUP

export EPICS_CA_ADDR_LIST=127.0.0.1 EPICS_CA_AUTO_ADDR_LIST=NO EPICS_CAS_INTF_ADDR_LIST=127.0.0.1
export EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1 EPICS_CA_SERVER_PORT=15164
[ $# -gt 0 ] || set -- BO TL
for ring in "$@"; do
  cp -r demo "$work/$ring"
  sed -i "s/SR:/$ring:/g" "$work/$ring"/db/* "$work/$ring/client.py"
  EPICS_CA_SERVER_PORT=$(free_port_from $((EPICS_CA_SERVER_PORT + 1)))
  IOCNAME=demo-${ring,,} "$python" "$work/$ring/ioc.py" >"$work/$ring.log" 2>&1 &
  pids+=($!)
  ioc=$!
  until grep -q "demo IOC is running" "$work/$ring.log"; do
    kill -0 "$ioc" 2>/dev/null || die "IOC demo-${ring,,} has ended: $(tail -n 3 "$work/$ring.log")"
    sleep 0.2
  done
  LOGNAME=operator "$python" "$work/$ring/client.py" operator >"$work/$ring.operator.log" 2>&1 &
  pids+=($!)
  if [ "$ring" = LI ]; then
    (sleep 660 && kill -SEGV "$ioc") &
    pids+=($!)
  fi
  say "demo-${ring,,} runs, with an operator"
done
wait
