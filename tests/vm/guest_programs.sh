#!/bin/busybox sh
# The whole user space of a virtual machine that runs tests which were built for its processor. tests/vm/test_programs.py
# says what it must tell.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
ip link set lo up
# shellcheck source=tests/vm/guest_lib.sh
. /guest_lib.sh
show_logs() { tail -n 40 /tmp/*.log; }
tell_through_serial_port

fact kernel
uname -r
fact processor
uname -m
for program in $PROGRAMS; do
  "$program" --gtest_color=no "--gtest_filter=-$LEFT_OUT" >"/tmp/$program.log" 2>&1
  status=$?
  fact "$program status"
  echo "$status"
  fact "$program failed"
  grep -B 12 -A 12 "Failure\|FAILED" "/tmp/$program.log"
  fact "$program passed"
  grep "PASSED" "/tmp/$program.log"
done
finish
