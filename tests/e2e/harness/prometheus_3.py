"""The Prometheus 3 that scripts/make-prometheus-3.sh builds."""
import fcntl
import os
import pathlib

import pytest


def binary() -> pathlib.Path:
    """Waits while it is being built."""
    directory = os.environ.get("IOC_EXPORTER_PROMETHEUS_3")
    if not directory:
        pytest.skip("no Prometheus 3 was configured: run ./test.sh")
    made = pathlib.Path(directory)
    if not (made / "lock").exists():
        pytest.skip(f"no Prometheus 3 in {made}: scripts/make-prometheus-3.sh builds it")
    with open(made / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    if (made / "skipped").exists():
        pytest.skip((made / "skipped").read_text().strip())
    if not (made / "made-for").exists():
        log = made / "log"
        pytest.fail(f"scripts/make-prometheus-3.sh {made} failed, in the end:\n"
                    f"{log.read_text()[-2000:] if log.exists() else ''}")
    return made / "prometheus"
