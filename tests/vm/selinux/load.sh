# Sourced by systemd/init.sh in the root that it makes: loads the policy, and labels the files as it says. systemd loads it
# again, and becomes enforcing.
# shellcheck shell=dash
mkdir -p opt
cp -a home/epics opt/ioc # of other-ioc.service
mount -t proc proc proc
mount -t sysfs sysfs sys
echo 0 >proc/sys/kernel/printk_ratelimit # each refusal
chroot . /usr/sbin/load_policy -i
echo 0 >sys/fs/selinux/enforce
chroot . /usr/sbin/setfiles -F /etc/selinux/default/contexts/files/file_contexts /
