#!/usr/bin/env bash
# Installs what is missing, builds, and starts the exporter. Packages and the exporter need root: called by a user, this asks
# sudo or doas at the beginning. The build and the demo stay the user's.
#
#   ./run.sh [--port PORT] [--all] [--demo | --no-demo] [--grafana-dashboards DIR] [-- EXPORTER_OPTION...]
#
#   --port PORT   the exporter's port (default: 10064)
#   --all         listen on all addresses, for a Prometheus elsewhere: who reaches the port can read the names of PVs
#                 and users (default: on 127.0.0.1 only)
#   --demo        start the demo even when this host runs an IOC
#   --no-demo     never start the demo
#   --grafana-dashboards DIR
#                 lay out the dashboards in DIR, with what Grafana reads at its start to have them and the
#                 Prometheus (the demo's, otherwise http://localhost:9090): GF_PATHS_PROVISIONING=DIR/provisioning
#   --            what follows goes to the exporter, for example --ioc.include=demo-ring
#
# Where the host has no IOC it also starts a demo on loopback: a soft IOC, three clients that write to it, of
# which the policy knows two, a Prometheus and an Alertmanager. Ctrl-C ends all that it started, and nothing else.
# shellcheck disable=SC2317  # functions that a trap or wait_for calls look unreachable to it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

port=10064
address=127.0.0.1
demo=auto
work=
installing=
pids=()
names=()
exporter_options=()
grafana=

usage() { sed -n '2,18s/^# \{0,1\}//p' run.sh; }

parse_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --demo) demo=yes ;;
      --all) address= ;;
      --no-demo) demo=no ;;
      --port)
        [ $# -ge 2 ] || die "--port wants a number"
        port=$2
        shift
        ;;
      --port=*) port=${1#*=} ;;
      --grafana-dashboards)
        [ $# -ge 2 ] || die "--grafana-dashboards wants a directory"
        grafana=$2
        shift
        ;;
      --grafana-dashboards=*) grafana=${1#*=} ;;
      --)
        shift
        exporter_options=("$@")
        break
        ;;
      -h | --help)
        usage
        exit 0
        ;;
      *)
        usage >&2
        exit 2
        ;;
    esac
    shift
  done
  if ! [[ $port =~ ^[0-9]{1,5}$ ]] || [ "$port" -lt 1 ] || [ "$port" -gt 65535 ]; then
    die "no port number: $port"
  fi
}

# start NAME COMMAND...: in a session of its own, so that its children can be ended with it; ended by the
# kernel if this script is killed. Its output goes to $work/NAME.log.
start() {
  local name=$1
  shift
  : >"$work/$name.log"
  setsid setpriv --pdeathsig KILL -- "$@" >"$work/$name.log" 2>&1 </dev/null &
  pids+=($!)
  names+=("$name")
}

# The same as the user who called sudo: nothing of the demo needs root.
start_as_user() {
  local name=$1
  shift
  if [ "${SUDO_UID:-0}" = 0 ]; then
    start "$name" "$@"
  else
    start "$name" setpriv --reuid "$SUDO_UID" --regid "${SUDO_GID:-$SUDO_UID}" --clear-groups -- \
      setpriv --pdeathsig KILL -- "$@" # changing the user has taken that away
  fi
}

signal_all() {
  local pid
  for pid in "${pids[@]}"; do kill "-$1" -- "-$pid" 2>/dev/null || true; done
}

any_left() {
  local pid
  for pid in "${pids[@]}"; do
    if kill -0 -- "-$pid" 2>/dev/null; then return 0; fi
  done
  return 1
}

end_all() {
  trap '' INT TERM HUP
  if [ ${#pids[@]} -gt 0 ]; then
    say "ending: ${names[*]}"
    signal_all TERM
    for _ in $(seq 50); do
      any_left || break
      sleep 0.1
    done
    signal_all KILL
    wait "${pids[@]}" 2>/dev/null || true
  fi
  [ -z "$installing" ] || kill "$installing" 2>/dev/null || true
  [ -z "$work" ] || rm -rf "$work"
}

# fail_with_log NAME TEXT: what its log says last, then the text, then the end.
fail_with_log() {
  tail -n 20 "$work/$1.log" >&2
  die "$2"
}

check_alive() {
  local i
  for i in "${!pids[@]}"; do
    kill -0 "${pids[i]}" 2>/dev/null || fail_with_log "${names[i]}" "${names[i]} has ended by itself"
  done
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails after that time.
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    check_alive
    sleep 0.2
  done
}

# has_series PATTERN: does a line of the exporter's page begin so (extended regular expression)?
has_series() { http_get "$port" /metrics | grep -E "^$1" >/dev/null; }
log_says() { grep -q -- "$2" "$work/$1.log"; }

# As the packages make it: a user that nothing else runs as. Where it cannot be made, the exporter takes an id that
# nobody has.
make_user() {
  getent passwd ioc_exporter >/dev/null && return
  say "making the system user ioc_exporter, which the exporter becomes once its probes are loaded"
  useradd --system --user-group --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin ioc_exporter ||
    say "there is no user ioc_exporter: the exporter runs as an unused id"
}

# The exporter starts before it is known whether there will be a demo, whose policy it gets then.
start_exporter() {
  local config=()
  if [[ " ${exporter_options[*]} " != *" --config.file"* ]]; then
    : >"$work/site.yml"
    config=("--config.file=$work/site.yml")
  fi
  start exporter build/ioc_exporter "--web.listen-address=$address:$port" "${config[@]}" "${exporter_options[@]}"
  exporter_pid=${pids[-1]}
  wait_for 30 log_says exporter "listening on" ||
    fail_with_log exporter "the exporter does not listen after 30 s"
}

# finds_demo_ioc PID PORT: by its process, since a second demo on this host has another name.
finds_demo_ioc() { has_series "epics_ioc_info\{.*,pid=\"$1\",.*,ca_port=\"$2\""; }

start_demo_ioc() {
  local python=.cache/demo-venv/bin/python name
  for name in $(compgen -e | grep '^EPICS_' || true); do unset "$name"; done
  export EPICS_CA_SERVER_PORT EPICS_CA_ADDR_LIST=127.0.0.1 EPICS_CA_AUTO_ADDR_LIST=NO
  EPICS_CA_SERVER_PORT=$(free_port_from 15064)
  export EPICS_CAS_INTF_ADDR_LIST=127.0.0.1
  export EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1
  start_as_user demo-ioc env IOCNAME=demo-ring "$python" demo/ioc.py
  wait_for 30 log_says demo-ioc "demo IOC is running" ||
    fail_with_log demo-ioc "the demo IOC does not run after 30 s"
  # With its port: a client that connects before that is one whose channels have no name.
  wait_for 10 finds_demo_ioc "${pids[-1]}" "$EPICS_CA_SERVER_PORT" ||
    fail_with_log exporter "the exporter has not found the demo IOC and its port after 10 s"
  start_as_user operator env LOGNAME=operator "$python" demo/client.py operator
  start_as_user feedback env LOGNAME=feedback "$python" demo/client.py feedback
}

use_demo_policy() {
  [ -e "$work/site.yml" ] || return 0
  cp demo/policy.yml "$work/site.yml"
  kill -HUP "$exporter_pid"
  wait_for 10 has_series "ioc_exporter_policy_puts_total\\{" ||
    fail_with_log exporter "the exporter has not taken over the demo's policy after 10 s"
}

start_rogue() {
  start_as_user rogue env LOGNAME=rogue .cache/demo-venv/bin/python demo/client.py rogue
}

start_alertmanager() {
  local binary
  binary=$(command -v prometheus-alertmanager || command -v alertmanager) || {
    say "there is no Alertmanager in PATH: going on without it"
    return
  }
  alertmanager_port=$(free_port_from 9093)
  hand_over "$work/alertmanager"
  start_as_user alertmanager "$binary" --config.file=demo/alertmanager.yml "--storage.path=$work/alertmanager" \
    "--web.listen-address=127.0.0.1:$alertmanager_port" --cluster.listen-address=
  wait_for 30 http_get "$alertmanager_port" /-/ready >/dev/null ||
    fail_with_log alertmanager "Alertmanager is not ready after 30 s"
}

start_prometheus() {
  command -v prometheus >/dev/null || {
    say "there is no prometheus in PATH: going on without it"
    return
  }
  prometheus_port=$(free_port_from 9090)
  sed -e "s/@PORT@/$port/" -e "s|@PROJECT@|$PWD|" \
    -e "s/@ALERTMANAGER@/${alertmanager_port:+\"127.0.0.1:$alertmanager_port\"}/" \
    demo/prometheus.yml.in >"$work/prometheus.yml"
  hand_over "$work/tsdb"
  start_as_user prometheus prometheus "--config.file=$work/prometheus.yml" \
    "--storage.tsdb.path=$work/tsdb" "--web.listen-address=127.0.0.1:$prometheus_port"
  wait_for 30 http_get "$prometheus_port" /-/ready >/dev/null ||
    fail_with_log prometheus "Prometheus is not ready after 30 s"
}

# Grafana looks at the folder every few seconds, so that what is there already is replaced as a whole.
lay_out_grafana() {
  scripts/lay-out-grafana.sh "$grafana" "http://localhost:${prometheus_port:-9090}"
  if [ -n "${SUDO_UID:-}" ]; then chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$grafana"; fi
}

show_links() {
  echo
  echo "  the exporter   http://localhost:$port/"
  echo "  its metrics    http://localhost:$port/metrics"
  if [ -n "${prometheus_port:-}" ]; then
    echo "  Prometheus     http://localhost:$prometheus_port/"
    echo "    who writes, puts/s:     $(prometheus_graph_link "$prometheus_port" \
      'sum by (user, pv) (rate(epics_puts_total[10s]))')"
    echo "    busiest records, 1/s:   $(prometheus_graph_link "$prometheus_port" \
      'topk(10, sum by (record) (rate(epics_record_process_total[10s])))')"
    echo "    alerts:                 http://localhost:$prometheus_port/alerts"
    echo "    in half a minute a client writes that the policy (demo/policy.yml) does not expect"
  fi
  if [ -n "${alertmanager_port:-}" ]; then
    echo "  Alertmanager   amtool alert --alertmanager.url=http://127.0.0.1:$alertmanager_port"
  fi
  echo
}

# The first lines of each of the families that a newcomer looks for.
show_sample() {
  local page family
  page=$(http_get "$port" /metrics)
  for family in epics_ioc_up epics_record_process_total epics_puts_total; do
    grep -m 4 "^$family{" <<<"$page" | sed 's/^/  /' || true
  done
  echo
}

# Does an IOC run here, by the libraries and the programs of all processes? The exporter knows better, once it is built.
seems_to_run_iocs() {
  local programs
  grep -qsE '/lib(dbCore|dbIoc)[.]' /proc/[0-9]*/maps && return
  programs=$(stat -L -c '%d:%i %n' /proc/[0-9]*/exe 2>/dev/null | sort -u -k 1,1 | cut -d ' ' -f 2) || true
  # shellcheck disable=SC2086 # words
  grep -qs dbProcess $programs /dev/null
}

# Python and Prometheus, for the demo.
install_demo() {
  scripts/install-deps.sh demo
  hand_over .cache
  as_invoker scripts/make-venv.sh .cache/demo-venv demo/requirements.txt
}

# While the compiler runs, where it looks as if there will be a demo. When this script is ended, apt-get still finishes.
begin_to_install_demo() {
  if [ "$demo" = yes ] || { [ "$demo" = auto ] && ! seems_to_run_iocs; }; then
    install_demo >"$work/install-demo.log" 2>&1 &
    installing=$!
  fi
}

end_to_install_demo() {
  if [ -z "$installing" ]; then
    install_demo
  else
    with_progress "installing what the demo needs" "$work/install-demo.log" wait "$installing" ||
      fail_with_log install-demo "what the demo needs could not be installed"
    installing=
  fi
}

if [ "${BASH_SOURCE[0]}" != "$0" ]; then return; fi # a test calls the functions
parse_options "$@"
become_root "installing packages and loading BPF programs" "$PWD/run.sh" "$@"
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

port_is_free "$port" || die "port $port is in use: choose another with --port"
scripts/install-deps.sh build
work=$(mktemp -d -t ioc_exporter-run.XXXXXX)
chmod 711 "$work"
begin_to_install_demo
configure_and_build build -DIOC_EXPORTER_TESTS=OFF -DIOC_EXPORTER_BENCH=OFF
make_user
start_exporter

if [ "$demo" = auto ]; then
  if wait_for 4 has_series 'epics_ioc_up\{.*\} 1'; then
    demo=no
    say "this host runs an IOC: no demo is needed (--demo starts one all the same)"
  else
    demo=yes
    say "this host runs no IOC: starting the demo (--no-demo goes without)"
  fi
fi
if [ "$demo" = yes ]; then
  end_to_install_demo
  start_demo_ioc
  use_demo_policy
  start_alertmanager
  start_prometheus
  start_rogue
  wait_for 30 has_series 'epics_puts_total\{' ||
    fail_with_log exporter "the exporter has seen no put of the demo's clients after 30 s"
fi
if [ -n "$grafana" ]; then lay_out_grafana; fi
show_links
show_sample
say "running until Ctrl-C; the logs are in $work/"

ended=0
wait -n "${pids[@]}" || ended=$?
check_alive
die "something that this script started has ended (status $ended)"
