"""Device support that never comes back to its dbProcess: by a C++ exception, longjmp, pthread_exit, pthread_cancel.

A return probe of the kernel replaces return addresses, so that each of these would end the IOC. An IOC goes on beside
the exporter as it does without it, and each of its processings is counted.
"""
import shutil

import pytest

from harness import env
from harness.scrape import DURATION, PROCESSED

TIMES = 23
DROPPED = "ioc_exporter_dropped_total"

# Each way out, and the shell command that processes the record where such a thing is caught.
WAYS = {
    "throw": "dbpf {}.PROC 1",
    "jump": "processWithJump {}",
    "exit": "processInThread {}",
    "cancel": "processInThread {}",
}


def database() -> str:
    """For each way a record, and others that process it: each once, since what is left that way stays active."""
    text = "".join(f'record(sub,"U:{way}"){{field(SNAM,"{way}_inside")}}\n' for way in WAYS)
    return text + "".join(f'record(calc,"U:{way}:{i}"){{field(CALC,"VAL+1") field(FLNK,"U:{way}")}}\n'
                          for way in WAYS for i in [*range(TIMES), "whole"])


@pytest.fixture
def ioc(start_ioc, tmp_path):
    """With libraries of its own: return probes that others on this host have on the file would end it."""
    tmp_path.chmod(0o755)
    libraries = shutil.copytree(env.base_dir("7.0.10") / "lib", tmp_path / "lib")
    return start_ioc("leaving", database(), base="7.0.10", lib_dir=libraries)


def processed(scrape, ioc, record: str) -> int:
    return scrape.count(PROCESSED, ioc=ioc.name, record=record)


@pytest.mark.parametrize("durations", [True, False])
def test_an_ioc_survives_exits_from_dbprocess(durations, ioc, start_exporter):
    exporter = start_exporter(*([] if durations else ["--no-records.durations"]), sees=[ioc])
    for way, command in WAYS.items():
        for i in range(TIMES):
            ioc.shell(command.format(f"U:{way}"))
            ioc.shell(command.format(f"U:{way}:{i}"))  # leaves two calls at once
        ioc.put(f"U:{way}.B", 1)  # which processes it
        ioc.process_once(f"U:{way}:whole", times=7)
    scrape = exporter.wait_scrape(lambda s: all(processed(s, ioc, f"U:{way}") >= 2 * TIMES + 8 for way in WAYS),
                                  "all calls that were left", timeout=60)
    for way in WAYS:
        for record, left, whole in ((f"U:{way}", 2 * TIMES, 8), (f"U:{way}:whole", 0, 7), (f"U:{way}:22", 1, 0)):
            assert processed(scrape, ioc, record) == left + whole, record
            timed = whole if durations else 0  # a call that was left has no duration
            assert scrape.count(f"{DURATION}_count", ioc=ioc.name, record=record) == timed, record
    unwound = len(WAYS) * 3 * TIMES if durations else 0
    assert scrape.value(DROPPED, probe="record_process", reason="unwound") == unwound
    # The outer records have not thrown, but were left, too.
    assert {labels["record"]: value for labels, value in scrape.series("epics_record_unwound_total", ioc=ioc.name)} == (
        {f"U:{way}": 2 * TIMES for way in WAYS} if durations else {})
    assert ioc.process.popen.poll() is None
