"""The exporter on other kernels: everything loads and attaches, and every count is exact."""
import os
import pathlib
import platform
import re
import shutil

import pytest

import machine
from harness.scrape import DURATION, PROCESSED, PUTS, Scrape

CALLS, WRITES, NOTIFIES = 23, 101, 13
DATABASE = """
record(ao,"VM:set"){field(FLNK,"VM:count")}
record(calc,"VM:count"){field(CALC,"VAL+1")}
"""


def kernel_of(series: str) -> pathlib.Path:
    directory = os.environ.get("IOC_EXPORTER_VM_KERNELS")
    assert directory, "IOC_EXPORTER_VM_KERNELS is not set: run ./test.sh"
    kernel = pathlib.Path(directory) / series / "vmlinuz"
    if not kernel.exists():
        pytest.skip(f"there is no kernel {series}: scripts/make-vm-kernels.sh fetches it on Debian hosts")
    if platform.machine() != "x86_64":
        pytest.skip(f"the virtual machines are x86_64, this host is {platform.machine()}")
    for program in ("qemu-system-x86_64", "busybox"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: scripts/install-deps.sh test installs it")
    return kernel


def test_kernel(series, tmp_path):
    kernel = kernel_of(series)
    settings = {"CALLS": CALLS, "WRITES": WRITES, "NOTIFIES": NOTIFIES}
    initramfs = machine.make_initramfs(tmp_path, DATABASE, settings)
    facts = machine.boot(kernel, initramfs, tmp_path)
    print("\n".join(f"@@ {name}\n{text[:3000]}" for name, text in facts.items()))

    assert facts["kernel"].startswith(series + ".")
    assert facts["check_status"].strip() == "0", facts["check"]
    assert "vm-ioc" in facts["check"]
    assert facts["clients"].split() == ["@sent", str(WRITES), "@sent", str(NOTIFIES)]
    processed = int(re.search(r"DBF_DOUBLE:\s+(\d+)", facts["truth"])[1])
    assert processed == CALLS + WRITES + NOTIFIES

    scrape = Scrape(facts["metrics"])
    of_ioc = {"ioc": "vm-ioc"}
    assert scrape.value(PROCESSED, record="VM:count", **of_ioc) == processed
    assert scrape.value(PROCESSED, record="VM:set", **of_ioc) == WRITES + NOTIFIES
    assert scrape.value(f"{DURATION}_count", record="VM:count", **of_ioc) == processed
    client = {"pv": "VM:set", "client": "127.0.0.1", "user": "root"}
    assert scrape.value(PUTS, op="write", **client, **of_ioc) == WRITES
    assert scrape.value(PUTS, op="write_notify", **client, **of_ioc) == NOTIFIES
    assert scrape.total(PUTS) == WRITES + NOTIFIES
    for labels, dropped in scrape.series("ioc_exporter_dropped_total"):
        assert dropped == 0, labels
    assert facts["exporter_status"].strip() == "0", facts["exporter_log"]
