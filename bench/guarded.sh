#!/usr/bin/env bash
# Installs what is missing, builds, and measures what IOCs with and without endbr64 at their functions pay for the probes.
#
#   bench/guarded.sh [OPTION...]     options: see bench/guarded.py
set -euo pipefail
# shellcheck source=bench/real_ioc.sh
. "$(dirname "${BASH_SOURCE[0]}")/real_ioc.sh" guarded "$@"
