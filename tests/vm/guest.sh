#!/bin/busybox sh
# The whole user space of a virtual machine: a real IOC, clients that put an exact number of times, and the
# exporter. Tells what it sees on the second serial port, as "@@ NAME" lines with text between them;
# tests/vm/test_kernels.py says what it must be.
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/epics/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t bpf bpf /sys/fs/bpf
mount -t tmpfs tmpfs /tmp
ip link set lo up
stty -F /dev/ttyS1 raw
exec >/dev/ttyS1 2>/dev/ttyS1 </dev/null

fact() { echo "@@ $1"; }
finish() {
  fact end
  sync
  poweroff -f
}

# wait_for SECONDS COMMAND...: until the command succeeds; tells and ends when it does not.
wait_for() {
  local left=$1
  shift
  until "$@"; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      fact trouble
      echo "waited for: $*"
      tail -n 40 /tmp/*.log
      finish
    fi
    sleep 1
  done
}
metrics() { wget -q -O - http://127.0.0.1:9177/metrics; }
is_up() { metrics 2>/tmp/wget.log | grep -q "^epics_record_info.*VM:count"; }
# The client has no name for its channels but those that the exporter saw being made.
start_client() { # NAME OP COUNT
  mkfifo "/tmp/$1.in"
  ca_flood "$3" "$2" double 1 1 VM:set <"/tmp/$1.in" >"/tmp/$1.log" 2>&1 &
}

fact kernel
uname -r

export EPICS_CA_SERVER_PORT=5064 EPICS_CAS_INTF_ADDR_LIST=127.0.0.1 EPICS_CA_ADDR_LIST=127.0.0.1
export EPICS_CA_AUTO_ADDR_LIST=NO EPICS_CAS_BEACON_ADDR_LIST=127.0.0.1 EPICS_CAS_AUTO_BEACON_ADDR_LIST=NO
export IOCNAME=vm-ioc LOGNAME=root
mkfifo /tmp/ioc.in
ioc_launcher /epics/dbd "" /test.db </tmp/ioc.in >/tmp/ioc.log 2>&1 &
exec 3>/tmp/ioc.in
wait_for 60 grep -q "^@running" /tmp/ioc.log
fact check
ioc_exporter --check --strict
fact check_status
echo $?
ioc_exporter --web.listen-address=127.0.0.1:9177 2>/tmp/exporter.log &
exporter=$!
wait_for 90 is_up

start_client write put "$WRITES"
exec 4>/tmp/write.in
wait_for 60 grep -q "^@connected" /tmp/write.log
start_client notify notify "$NOTIFIES"
exec 5>/tmp/notify.in
wait_for 60 grep -q "^@connected" /tmp/notify.log
echo go >&4
echo go >&5
wait_for 90 grep -q "^@sent" /tmp/write.log
wait_for 90 grep -q "^@sent" /tmp/notify.log
# A write without callback is sent before the IOC does it.
counted() { # N
  echo "dbgf VM:count" >&3
  grep "^DBF_DOUBLE" /tmp/ioc.log | tail -n 1 | grep -qw "$1"
}
wait_for 60 counted $((WRITES + NOTIFIES))
# Only now: dbtr looks at PACT before it locks the record, and leaves one alone that is being processed.
i=0
while [ "$i" -lt "$CALLS" ]; do
  echo "dbtr VM:count" >&3
  i=$((i + 1))
done
wait_for 60 counted $((CALLS + WRITES + NOTIFIES))

fact clients
grep -h "^@sent" /tmp/write.log /tmp/notify.log
fact truth
grep "^DBF_DOUBLE" /tmp/ioc.log | tail -n 1
fact metrics
metrics
fact exporter_log
kill -TERM "$exporter"
wait "$exporter"
status=$?
cat /tmp/exporter.log
fact exporter_status
echo "$status"
finish
