#!/usr/bin/env bash
# Installs what is missing, builds, and measures what each kind of call that the record probes see costs.
#
#   bench/probes.sh [OPTION...]     options: see bench/probes.py
set -euo pipefail
# shellcheck source=bench/real_ioc.sh
. "$(dirname "${BASH_SOURCE[0]}")/real_ioc.sh" probes "$@"
