#!/bin/busybox sh
# Runs the exporter in its SELinux domain, and tells what the kernel refused. tests/vm/test_selinux.py says what it must tell.
PORT=10064 IOC_IN=/run/ioc/in IOC_LOG=/run/ioc/log
export PATH=/usr/local/bin:/usr/sbin:/usr/bin LD_LIBRARY_PATH=/home/epics/epics/lib
# shellcheck source=tests/vm/guest_lib.sh
. /guest_lib.sh
show_logs() {
  journalctl --no-pager -n 60
  refused | tail -n 40
}
tell_through_serial_port
use_ca_on_loopback

refused() { dmesg | grep -E "avc: +denied|audit_lost|limit exceeded|callbacks suppressed"; }
sees_ioc() { is_up && metrics | grep 'epics_ioc_up{ioc="other-ioc".*} 1' >/dev/null; }
refused_to_send() { dmesg | grep "avc: *denied.*name_connect.*ioc_exporter_t" >/dev/null; }
put_is_there() { grep -q VM:count /tmp/received; }
allow_sending() {
  echo 1 >/sys/fs/selinux/booleans/ioc_exporter_send
  echo 1 >/sys/fs/selinux/commit_pending_bools
}

fact mode
cat /sys/fs/selinux/enforce
echo
wait_for 60 grep -qs "^@running" $IOC_LOG
wait_for 60 grep -qs "^@running" /run/other-ioc/log
fact check_status
systemctl start check
systemctl show -p Result -p ExecMainStatus check
fact check
journalctl --no-pager -o cat -u check

systemctl start ioc_exporter
wait_for 90 sees_ioc
fact domains
cat /sys/fs/cgroup/system.slice/ioc_exporter.service/cgroup.procs |
  while read -r pid; do echo "$(cat "/proc/$pid/comm") $(cat "/proc/$pid/attr/current")"; done
start_client write put "$WRITES"
start_client notify notify "$NOTIFIES"
put_and_process
fact metrics
metrics
fact puts
cat /var/log/ioc_exporter/puts.jsonl
systemctl reload ioc_exporter
sleep 3
fact labels
/usr/local/bin/stat -c "%n %C" /var/log/ioc_exporter/* /var/lib/ioc_exporter/*
fact refused
refused

# A right that it does not have, until it is given: of puts to VM:count it sends events.
fact sending
dmesg -c >/dev/null
sleep 1000 | nc -l -p $RECEIVER >/tmp/received &
echo go | ca_flood "$SENT" put double 1 1 VM:count
wait_for 60 refused_to_send
allow_sending
wait_for 90 put_is_there
systemctl stop ioc_exporter
refused
fact received
cat /tmp/received
fact journal
journalctl --no-pager -o cat -u ioc_exporter
finish
