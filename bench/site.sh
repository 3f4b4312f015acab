#!/usr/bin/env bash
# The cost of a site of a thousand IOCs for a Prometheus: rules, and the queries of the dashboards.
#
#   bench/site.sh [OPTION...]     options: see bench/site.py. Takes 6 GB of memory and a quarter of an hour.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

scripts/make-venv.sh .cache/test-env/venv tests/e2e/requirements.txt
exec .cache/test-env/venv/bin/python bench/site.py "$@"
