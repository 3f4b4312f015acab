#!/usr/bin/env bash
# Installs what is missing, builds, and measures how far the counts of an IOC over its budget are from the truth.
#
#   bench/estimates.sh [OPTION...]     options: see bench/estimates.py
set -euo pipefail
# shellcheck source=bench/real_ioc.sh
. "$(dirname "${BASH_SOURCE[0]}")/real_ioc.sh" estimates "$@"
