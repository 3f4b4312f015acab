#!/usr/bin/env bash
# run.sh finds its demo's IOC by the process, when another demo on this host has taken the name.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/packaging/lib.sh
. "$here/../packaging/lib.sh"
# shellcheck source=run.sh
. "$here/../../run.sh"

page='epics_ioc_info{ioc="demo-ring",pid="17",user="epics",base_version="7.0.10",executable="/usr/bin/python3",ca_port="15064"} 1
epics_ioc_info{ioc="demo-ring-23",pid="23",user="epics",base_version="7.0.10",executable="/usr/bin/python3",ca_port="15065"} 1'
http_get() { printf '%s\n' "$page"; }
free_port_from() { echo 15065; }
start_as_user() { pids+=(23) && started+=("$1"); }
log_says() { true; }
check_alive() { fail "it waits for another IOC"; }

started=()
start_demo_ioc
is "what was started" "demo-ioc operator feedback" "${started[*]}"
! finds_demo_ioc 17 15065 || fail "another's process with this demo's port"
! finds_demo_ioc 23 15064 || fail "this demo's process with another port"
