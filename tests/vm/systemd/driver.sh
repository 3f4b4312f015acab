#!/bin/busybox sh
# Installs the exporter as its package does, and lives through a day with it: started, hung, restarted, reloaded,
# stopped. tests/vm/test_systemd.py says what it must tell.
PORT=10064 IOC_IN=/run/ioc/in IOC_LOG=/run/ioc/log
export PATH=/usr/sbin:/usr/bin LD_LIBRARY_PATH=/home/epics/epics/lib
# shellcheck source=tests/vm/guest_lib.sh
. /guest_lib.sh
show_logs() { journalctl --no-pager -n 60; }
tell_through_serial_port
use_ca_on_loopback

exporter() { systemctl show -p "$1" --value ioc_exporter; } # PROPERTY
sees_ioc() { is_up && exporter StatusText | grep "^1 IOC;" >/dev/null; }
tell_state() { # FACT PROPERTY...
  local IFS=,
  fact "$1"
  shift
  systemctl show -p "$*" ioc_exporter
}
tell_metrics() {
  fact "$1"
  metrics
}
change() { # COMMAND: of systemctl
  fact "$1"
  systemctl "$1" ioc_exporter
  echo $?
}
grouped() { metrics | grep "^epics_record_process_total.*record_group=\"$1\"" >/dev/null; }
revived() { [ "$(exporter NRestarts)" != 0 ] && [ "$(exporter ActiveState)" = active ]; }

fact versions
uname -r
systemctl --version
fact postinst
sh /postinst configure
fact user
getent passwd ioc_exporter
wait_for 60 grep -qs "^@running" $IOC_LOG

# As it is installed.
change start
wait_for 90 sees_ioc
tell_state started ActiveState SubState Result NRestarts StatusText
fact process
grep -E "^(Uid|Gid|Cap[A-Z][a-z]+|NoNewPrivs|Seccomp):" "/proc/$(exporter MainPID)/status"
fact home
stat -c "%a" "/proc/$(exporter MainPID)/root/home"
fact state
stat -c "%n %U %a" /var/lib/ioc_exporter/channels

for client in "write put $WRITES" "notify notify $NOTIFIES" "after put $AFTER" "last notify $LAST"; do
  # shellcheck disable=SC2086  # words
  start_client $client
done
put_and_process
tell_metrics metrics

# Hung.
kill -STOP "$(exporter MainPID)"
wait_for 120 revived
wait_for 90 sees_ioc
tell_state revived ActiveState SubState NRestarts StatusText
release_client after
wait_client after
wait_for 60 counted $((CALLS + WRITES + NOTIFIES + AFTER))
tell_metrics revived_metrics

# With options and a configuration file.
options="--config.file=/etc/ioc_exporter.yml --web.listen-address=127.0.0.1:9177"
sed -i "s,^IOC_EXPORTER_OPTIONS=.*,IOC_EXPORTER_OPTIONS='$options'," /etc/default/ioc_exporter
PORT=9177
echo "records: {groups: [{match: 'VM:set', group: before}]}" >/etc/ioc_exporter.yml
change restart
wait_for 90 sees_ioc
release_client last
wait_client last
wait_for 60 counted $((CALLS + WRITES + NOTIFIES + AFTER + LAST))
wait_for 60 grouped before
echo "records: {groups: [{match: 'VM:set', group: after}]}" >/etc/ioc_exporter.yml
change reload
wait_for 60 grouped after
tell_state reloaded ActiveState SubState Result StatusText
tell_metrics reloaded_metrics

change stop
tell_state stopped ActiveState SubState
fact ends
cat /run/ends
fact journal
journalctl --no-pager -o cat -u ioc_exporter
finish
