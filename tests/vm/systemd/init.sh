#!/bin/busybox sh
# Makes of the archive a root file system of its own, as a disk's is: systemd makes mount namespaces for
# services, which pivot_root does not do to the kernel's first one.
export PATH=/bin
/bin/busybox --install -s /bin
mkdir /new
mount -t tmpfs -o mode=0755 tmpfs /new
for entry in /*; do
  case $entry in
    /new | /init | /epics | /proc | /sys | /dev | /tmp) ;;
    *) cp -a "$entry" /new ;;
  esac
done
cd /new || exit 1
mkdir -p proc sys dev run root home/epics var/lib
mkdir -m 1777 tmp var/tmp
ln -s /run var/run
# An IOC's files in a folder where only its user may look, below /home, which the unit hides.
mv /epics usr/bin/ioc_launcher test.db home/epics
chown -R 1000:1000 home/epics
chmod 0700 home/epics
# shellcheck source=tests/vm/selinux/load.sh
[ ! -e load.sh ] || . ./load.sh
exec switch_root /new /lib/systemd/systemd --show-status=no
