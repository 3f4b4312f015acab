#!/bin/sh
# The manual page of a program, of its --help and those of its commands.
#
#   make-man-page.sh PROGRAM...   (the program, and what runs it before it)
set -eu
verbatim() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; }
help=$("$@" --help)
commands=$(printf '%s\n' "$help" | sed -n 's/^  ioc_exporter \([a-z-]*\( [a-z]\+\)*\).*/\1/p' | tr ' ' '_')
printf '.TH IOC_EXPORTER 8 "" "ioc_exporter" "System Administration"\n.SH NAME\n'
printf 'ioc_exporter \\- Prometheus exporter for EPICS IOC hosts\n.SH DESCRIPTION\n.nf\n'
printf '%s\n' "$help" | verbatim
for command in $commands; do
  printf '.fi\n.SH IOC_EXPORTER %s\n.nf\n' "$(printf '%s' "$command" | tr a-z_ 'A-Z ')"
  # shellcheck disable=SC2046 # policy test: two words
  text=$("$@" $(printf '%s' "$command" | tr _ ' ') --help)
  printf '%s\n' "$text" | verbatim
done
printf '.fi\n.SH SIGNALS\nSIGTERM, SIGINT: end. SIGUSR1: detach all probes. SIGUSR2: attach them again. SIGHUP: read the files again.\n'
printf '.SH FILES\n/etc/default/ioc_exporter: options for the systemd unit. /var/lib/ioc_exporter: state.\n'
