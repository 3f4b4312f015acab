#!/usr/bin/env bash
# Installs what is missing, builds, and measures how many chains can be traced, beside bpftrace.
#
#   bench/traces.sh [OPTION...]     options: see bench/traces.py
set -euo pipefail
# shellcheck source=bench/real_ioc.sh
. "$(dirname "${BASH_SOURCE[0]}")/real_ioc.sh" traces "$@"
