# shellcheck shell=dash
# Functions of the scripts inside virtual machines; sourced. They report on the second serial port, TELL, as
# "@@ NAME" lines with text between them.
#
# PORT is the exporter's, IOC_IN and IOC_LOG are the IOC's shell; show_logs is called when there is trouble.
tell_through_serial_port() {
  stty -F "$TELL" raw
  exec >"$TELL" 2>"$TELL" </dev/null
}

fact() { echo "@@ $1"; }
finish() {
  fact end
  sync
  poweroff -f
}

# wait_for SECONDS COMMAND...: until the command succeeds; tells and ends when it does not. Ten times as long where the host
# is busy: it cannot be known here.
wait_for() {
  local left=$(($1 * 10))
  shift
  until "$@"; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      fact trouble
      echo "waited for: $*"
      show_logs
      finish
    fi
    sleep 1
  done
}

use_ca_on_loopback() {
  export EPICS_CA_SERVER_PORT=5064 EPICS_CAS_INTF_ADDR_LIST=127.0.0.1 EPICS_CA_ADDR_LIST=127.0.0.1
  export EPICS_CA_AUTO_ADDR_LIST=NO EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1 EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO
}
metrics() { wget -q -O - "http://127.0.0.1:$PORT/metrics" 2>/tmp/wget.log; }
is_up() { metrics | grep "^${UP:-epics_record_process_total.*VM:count}" >/dev/null; }

# A client that waits with its channel open. The exporter has no name for it but the one that it saw being made.
start_client() { # NAME OP COUNT
  mkfifo "/tmp/$1.in"
  ca_flood "$3" "$2" double 1 1 VM:set <>"/tmp/$1.in" >"/tmp/$1.log" 2>&1 &
  wait_for 60 grep -qs "^@connected" "/tmp/$1.log"
}
release_client() { echo go >"/tmp/$1.in"; } # NAME
wait_client() { wait_for 90 grep -qs "^@sent" "/tmp/$1.log"; } # NAME

# How often VM:count was processed, as the IOC has it. A write without callback is sent before the IOC does it.
ioc_says() { # COMMAND
  echo "$1" >"$IOC_IN"
}
counted() { # N
  ioc_says "dbgf VM:count"
  truth | grep -w "$1" >/dev/null
}
truth() { grep "^DBF_DOUBLE" "$IOC_LOG" | tail -n 1; }
# dbtr looks at PACT before it locks the record, and leaves one alone that is being processed: nobody puts now.
process_by_hand() { # TIMES
  local i=0
  while [ "$i" -lt "$1" ]; do
    ioc_says "dbtr VM:count"
    i=$((i + 1))
  done
}

# The clients write and notify at the same time, then CALLS by hand.
put_and_process() {
  release_client write
  release_client notify
  wait_client write
  wait_client notify
  wait_for 60 counted $((WRITES + NOTIFIES))
  process_by_hand "$CALLS"
  wait_for 60 counted $((CALLS + WRITES + NOTIFIES))
}
