#!/bin/busybox sh
# The whole user space of a virtual machine: a real IOC, clients that put an exact number of times, and the
# exporter. tests/vm/test_kernels.py says what it must tell.
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/epics/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t securityfs securityfs /sys/kernel/security
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
ip link set lo up
PORT=9177 IOC_IN=/tmp/ioc.in IOC_LOG=/tmp/ioc.log
# shellcheck source=tests/vm/guest_lib.sh
. /guest_lib.sh
show_logs() { tail -n 40 /tmp/*.log; }
tell_through_serial_port

fact kernel
uname -r
fact kernel_version
uname -v

paranoid() { cat /proc/sys/kernel/perf_event_paranoid; }
fact paranoid
paranoid

use_ca_on_loopback
export IOCNAME=vm-ioc LOGNAME=root
mkfifo $IOC_IN
ioc_launcher /epics/dbd "" /test.db <>$IOC_IN >$IOC_LOG 2>&1 &
wait_for 60 grep -qs "^@running" $IOC_LOG
if [ "$CHECK" = 1 ]; then
  fact check
  ioc_exporter --check --strict
  status=$?
  fact check_status
  echo $status
fi
ioc_exporter --web.listen-address=127.0.0.1:$PORT --collector.putlog --putlog.file=/tmp/puts/puts.jsonl \
  --putlog.burst=0s --collector.traces --traces.rate=100000 --overhead.target=0 2>/tmp/exporter.log &
exporter=$!
wait_for 90 is_up

start_client write put "$WRITES"
start_client notify notify "$NOTIFIES"
put_and_process

# Of each process of the exporter: name, capabilities in effect, those that bound them.
fact rights
for status in /proc/[0-9]*/status; do
  sed -n 's/^\(Name\|CapEff\|CapBnd\):\t//p' "$status" 2>/dev/null | tr '\n' ' ' | grep "^ioc_exp"
done
fact paranoid_after
paranoid
fact clients
grep -h "^@sent" /tmp/write.log /tmp/notify.log
fact truth
truth
fact metrics
metrics
fact exporter_log
kill -TERM "$exporter"
wait "$exporter"
status=$?
cat /tmp/exporter.log
fact exporter_status
echo "$status"
fact puts
cat /tmp/puts/puts.jsonl
finish
