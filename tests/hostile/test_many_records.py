"""Kernel memory for records: by those that process, not by those in the database, and below a limit."""
import html
import pathlib
import platform
import re

import pytest

from harness import databases
from harness.scrape import PROCESSED

# A page of all that is in these databases takes long to parse; what has no series of its own is summed up.
EXPORTER_OPTIONS = ["--discovery.interval=200ms", "--limit=records.per_ioc=20"]
MIB = 1 << 20


def large_database(prefix: str, records: int, processing: int) -> str:
    """Of its records, so many process each time that NAME:go does: NAME:p0 and so on."""
    event = 'field(SCAN,"Event") field(EVNT,"9") field(CALC,"VAL+1")'
    return (f'record(event,"{prefix}go"){{field(VAL,"9")}}\n'
            + "".join(f'record(calc,"{prefix}p{i}"){{{event}}}\n' for i in range(processing))
            + "".join(f'record(calc,"{prefix}x{i}"){{}}\n' for i in range(records - processing)))


def kernel_memory(exporter) -> int:
    """Of its BPF maps, each counted once, as the kernel counts it."""
    maps = {}
    for fd in pathlib.Path(f"/proc/{exporter.pid}/fdinfo").iterdir():
        try:
            info = dict(line.split(":", 1) for line in fd.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if "map_id" in info:
            maps[info["map_id"].strip()] = int(info["memlock"])
    return sum(maps.values())


@pytest.fixture(autouse=True)
def entries_on_demand():
    """Elsewhere all records take memory; how much is bounded in tests/bpf/record_memory_test.cpp."""
    version = tuple(int(n) for n in re.findall(r"\d+", platform.release())[:2])
    if version < (6, 4) or "PREEMPT_RT" in platform.version():
        pytest.skip("maps do not grow with use, or the kernel does not say what they take (Linux 6.4)")


def wait_counting(exporter, ioc, records: int) -> None:
    def counting(scrape):
        return (scrape.value("epics_ioc_records_watched", ioc=ioc.name) == 1
                and scrape.total("epics_ioc_records", ioc=ioc.name) == records)

    exporter.wait_scrape(counting, f"all records of {ioc.name} are known", 120)


def counted(scrape, ioc) -> int:
    return scrape.total(PROCESSED, ioc=ioc.name)


def test_a_large_database_pays_for_active_records(start_ioc, start_exporter):
    exporter = start_exporter("--ioc.include=large")
    before = kernel_memory(exporter)
    ioc = start_ioc("large", large_database("L:", 100_000, 1_000))
    wait_counting(exporter, ioc, 100_001)
    ioc.process_once("L:go", 7)
    ioc.get_settled(["L:p0", "L:p999"])
    scrape = exporter.wait_scrape(lambda s: counted(s, ioc) == 7_000 + 7, "exact counts", 60)
    assert kernel_memory(exporter) - before < 6 * MIB
    assert scrape.value("ioc_exporter_kernel_memory_bytes") < 6 * MIB


def test_the_limit_holds_and_is_named(start_ioc, start_exporter):
    small = start_ioc("small", databases.put_targets("R:", 1))
    exporter = start_exporter("--ioc.include=small|greedy", "--limit.kernel-memory=2MiB", sees=[small])
    ioc = start_ioc("greedy", large_database("G:", 50_000, 3_000))
    wait_counting(exporter, ioc, 50_001)
    ioc.process_once("G:go", 3)
    ioc.get_settled(["G:p0", "G:p2999"])

    def dropped(scrape):
        return scrape.count("ioc_exporter_dropped_total", probe="record_process", reason="memory")

    scrape = exporter.wait_scrape(lambda s: counted(s, ioc) + dropped(s) == 9_000 + 3, "all counted or dropped", 60)
    assert counted(scrape, ioc) > 1_000
    assert dropped(scrape) > 1_000
    assert scrape.value("ioc_exporter_kernel_memory_bytes") <= 2 * MIB
    small.process_once("R:text1", 23)
    exporter.wait_scrape(lambda s: s.count(PROCESSED, ioc=small.name, record="R:text1") == 23, "exact counts")
    exporter.process.wait_for(r"count records of ioc greedy \(pid \d+\): its share of --limit.kernel-memory is used up",
                              "stderr")
    page = html.unescape(exporter.request("/")[2].decode())
    assert f"{dropped(scrape)} calls of records not counted: the IOC's share of --limit.kernel-memory is used up" in page
