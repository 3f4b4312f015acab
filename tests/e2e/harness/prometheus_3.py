"""The Prometheus 3 that scripts/make-prometheus-3.sh fetches."""
import os
import pathlib

import pytest


def binary() -> pathlib.Path:
    directory = os.environ.get("IOC_EXPORTER_PROMETHEUS_3")
    if not directory:
        pytest.skip("no Prometheus 3 was configured: run ./test.sh")
    made = pathlib.Path(directory)
    if (made / "skipped").exists():
        pytest.skip((made / "skipped").read_text().strip())
    if not (made / "prometheus").exists():
        pytest.skip(f"no Prometheus 3 in {made}: scripts/make-prometheus-3.sh fetches it")
    return made / "prometheus"
