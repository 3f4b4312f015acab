"""Of busy records few calls are timed: all are counted, exactly, while the probes that time them come and go."""
import pytest

from harness.scrape import DURATION, PROCESSED
from harness.waiting import wait_until

TIMED_RATIO, TIMED = "epics_ioc_timed_ratio", "epics_ioc_timed_total"
EMPTY_PROBE = "ioc_exporter_probe_hit_seconds"
RECORDS = 250
CALLS = 2 * RECORDS * 10  # a second, with those that they process in turn


def database(records: int) -> str:
    """Counting records, each scanned ten times a second and followed by another one."""
    return "".join(f'record(calc,"S:{i}"){{field(SCAN,".1 second") field(CALC,"VAL+1") field(FLNK,"S:{i}:next")}}\n'
                   f'record(calc,"S:{i}:next"){{field(CALC,"VAL+1")}}\n' for i in range(records))


WATCHED = [name for i in range(0, RECORDS, 23) for name in (f"S:{i}", f"S:{i}:next")]


def truth(ioc) -> dict[str, int]:
    """While the scans stand still."""
    before = {}
    while (now := {name: int(ioc.get(f"{name}.VAL")) for name in WATCHED}) != before:
        before = now
    return now


def counted(scrape, ioc) -> dict[str, int]:
    return {name: scrape.count(PROCESSED, ioc=ioc.name, record=name) for name in WATCHED}


def timed(scrape, ioc) -> int:
    return sum(scrape.count(f"{DURATION}_count", ioc=ioc.name, record=name) for name in WATCHED)


def differences(later: dict, earlier: dict) -> dict:
    return {name: later[name] - earlier[name] for name in later}


@pytest.fixture
def ioc(start_ioc):
    return start_ioc("sampled", database(RECORDS))


def times_some(start_exporter, ioc):
    """An exporter whose target is between the cost of counting and that of timing all: an entry is taken for 2 empty
    probes, an end for 1. Each exporter measures an empty probe when it starts, and on a busy machine two find different
    times; so it is one that measured nearly what its target was made of."""
    seconds = start_exporter("--ioc.include=nobody").scrape().value(EMPTY_PROBE)
    for _ in range(8):
        target = CALLS * 2.45 * seconds * 100
        exporter = start_exporter(f"--overhead.target={target:.4f}", "--overhead.budget=0", f"--ioc.include={ioc.name}",
                                  sees=[ioc])
        measured = exporter.scrape().value(EMPTY_PROBE)
        if abs(measured / seconds - 1) < 0.1:
            return exporter
        exporter.stop()
        seconds = measured
    raise AssertionError("eight exporters in a row measured different times of an empty probe")


def test_some_calls_are_timed_and_all_counted(ioc, start_exporter):
    exporter = times_some(start_exporter, ioc)
    exporter.wait_scrape(lambda s: 0 < s.value(TIMED_RATIO, ioc=ioc.name) < 1, "some calls are timed", 60)
    ioc.shell("iocPause")
    true_before, before = truth(ioc), exporter.scrape()
    ioc.shell("iocRun")
    exporter.wait_scrape(lambda s: s.count(TIMED, ioc=ioc.name) > before.count(TIMED, ioc=ioc.name) + 23 * RECORDS,
                         "windows", 90)
    ioc.shell("iocPause")
    true_after, after = truth(ioc), exporter.scrape()
    assert differences(counted(after, ioc), counted(before, ioc)) == differences(true_after, true_before)
    assert after.value(TIMED_RATIO, ioc=ioc.name) < 1
    assert timed(after, ioc) > timed(before, ioc)
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 1, "all are timed when the load is gone", 60)


def test_none_is_timed_and_all_counted(ioc, start_exporter):
    exporter = start_exporter("--overhead.target=0.01", "--overhead.budget=0", f"--ioc.include={ioc.name}", sees=[ioc])
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 0, "no call is timed", 60)
    ioc.shell("iocPause")
    true_before, before = truth(ioc), exporter.scrape()
    ioc.shell("iocRun")
    wait_until(lambda: ioc.get("S:0.VAL") >= true_before["S:0"] + 23, "some time of scanning", 60)
    ioc.shell("iocPause")
    true_after, after = truth(ioc), exporter.scrape()
    assert differences(counted(after, ioc), counted(before, ioc)) == differences(true_after, true_before)
    assert timed(after, ioc) == timed(before, ioc)


def test_the_default_target(start_ioc, start_exporter):
    """To count 50,000 calls a second costs more than 1 % of a core on any machine."""
    ioc = start_ioc("loaded", database(2500))
    exporter = start_exporter(f"--ioc.include={ioc.name}", sees=[ioc])
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 0, "no call is timed", 60)
    ioc.shell("iocPause")
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 1, "all are timed when the load is gone", 60)
