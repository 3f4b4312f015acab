"""Of busy IOCs some seconds are timed: all calls are counted, exactly, while the probes that time them come and go."""
import pytest

from harness.scrape import DURATION, PROCESSED

TIMED_RATIO, TIMED = "epics_ioc_timed_ratio", "epics_ioc_timed_total"
COMPLETION = "epics_record_completion_duration_seconds"
RECORDS = 250


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


def times_some(start_exporter, *iocs):
    """An exporter whose target is a quarter of what timing all calls costs on this machine, as another one has found."""
    exporter = start_exporter("--overhead.target=0.0001", sees=iocs)
    cost = exporter.process.wait_for(rf"to time all calls of {iocs[0].name} would cost ([0-9.]+) %", "stderr")
    exporter.stop()
    return start_exporter(f"--overhead.target={float(cost[1]) / 4}", sees=iocs)


def counts_all_while_some_are_timed(exporter, ioc, level: int) -> None:
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 1 / level, f"1 second in {level} is timed", 60)
    assert f"1 second in {level} is timed" in exporter.process.stderr()
    assert f"1 second in {level} is timed".encode() in exporter.request("/")[2]
    ioc.shell("iocPause")
    true_before, before = truth(ioc), exporter.scrape()
    ioc.shell("iocRun")
    exporter.wait_scrape(lambda s: s.count(TIMED, ioc=ioc.name) > before.count(TIMED, ioc=ioc.name) + 3 * RECORDS,
                         "a window", 60 + 2 * level)
    ioc.shell("iocPause")
    true_after, after = truth(ioc), exporter.scrape()
    assert differences(counted(after, ioc), counted(before, ioc)) == differences(true_after, true_before)
    more = timed(after, ioc) - timed(before, ioc)
    assert more > 0 and more % level == 0


def test_a_second_in_16_is_timed_and_all_are_counted(ioc, start_exporter):
    exporter = times_some(start_exporter, ioc)
    counts_all_while_some_are_timed(exporter, ioc, 16)
    exporter.wait_scrape(lambda s: s.value(TIMED_RATIO, ioc=ioc.name) == 1, "all are timed when the load is gone", 120)


def test_a_second_in_64_is_timed_whatever_it_costs(ioc, start_exporter):
    exporter = start_exporter("--overhead.target=0.0001", sees=[ioc])
    counts_all_while_some_are_timed(exporter, ioc, 64)


def test_iocs_with_one_attachment_have_one_level_and_long_completions_are_timed(start_ioc, start_exporter):
    """A library that seven IOCs have is attached once for all. Completions that take 20 to 30 s outlast their window."""
    busy = start_ioc("crowded", database(RECORDS) + "".join(
        f'record(calcout,"S:long{i}"){{field(SCAN,".1 second") field(CALC,"VAL+1") field(ODLY,"{20 + i / 8}")}}\n'
        for i in range(80)))
    others = [start_ioc(f"other{i}", 'record(calc,"S:other"){field(CALC,"VAL+1")}') for i in range(6)]
    exporter = times_some(start_exporter, busy, *others)

    def have_one_level(scrape) -> bool:
        levels = {scrape.value(TIMED_RATIO, ioc=one.name) for one in (busy, *others)}
        return len(levels) == 1 and levels < {1 / 16, 1 / 64}

    exporter.wait_scrape(have_one_level, "the busy one's level is that of all", 60)
    before = exporter.scrape()

    def completed(scrape, what: str) -> float:
        return sum(value - (before.value(f"{COMPLETION}_{what}", **labels) or 0)
                   for labels, value in scrape.series(f"{COMPLETION}_{what}", ioc=busy.name))

    # Those that began while all were timed are over by then.
    scrape = exporter.wait_scrape(lambda s: completed(s, "count") >= 80 + 5 * 16, "timed completions", 300)
    assert 20 <= completed(scrape, "sum") / completed(scrape, "count") < 45
