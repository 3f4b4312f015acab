#!/usr/bin/env bash
# Installs what is missing, builds, and measures what a real IOC, and its users, pay for the probes.
#
#   bench/ioc.sh [OPTION...]     options: see bench/ioc.py
set -euo pipefail
# shellcheck source=bench/real_ioc.sh
. "$(dirname "${BASH_SOURCE[0]}")/real_ioc.sh" ioc "$@"
