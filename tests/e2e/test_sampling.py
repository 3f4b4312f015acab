"""Histograms of busy records, of which few calls are timed: they show what happened all the same."""
import pytest

from harness import env
from harness.scrape import DURATION, PROCESSED

EXPORTER_OPTIONS = ["--no-collector.puts", "--overhead.budget=0", "--overhead.target=0",
                    "--records.durations=on"]
TIMED = "epics_ioc_timed_total"
# Slow calls of these records take 200 us; the others hardly ever longer than FAST, and those during which the whole
# machine stood still longer than STOPPED. Of the calls in bursts one in 500 is slow, so that a single one that the
# machine held up, and that stands for a hundred, would show: they take 2 ms, which is seldom held up for.
FAST, STOPPED = 2.0 ** -14, 2.0 ** -10
FAST_IN_BURSTS, STOPPED_IN_BURSTS = 2.0 ** -10, 2.0 ** -6


def database() -> str:
    """Sub records count in L how often they were slow."""
    def slow(name: str, every: int, more: str = "", microseconds: int = 200) -> str:
        return (f'record(sub,"S:{name}"){{field(SNAM,"slow_at_times") field(A,"{every}") '
                f'field(B,"{microseconds}") {more}}}\n')

    return (slow("bursts", 500, microseconds=2000) + slow("steady", 4) + slow("parent", 4, 'field(FLNK,"S:child")') +
            'record(sub,"S:child"){field(SNAM,"slow_if_told") field(B,"200") field(INPA,"S:parent.VAL NPP")}\n')


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("sampled", database(), base="7.0.10", lib_dir=env.base_dir("7.0.10") / "lib")


def shown_slow(scrape, ioc, record, fast, stopped) -> float:
    buckets = dict(scrape.buckets(ioc.name, record))
    return buckets[stopped] - buckets[fast]


def check(scrape, ioc, record, calls, tolerance, fast=FAST, stopped=STOPPED) -> None:
    labels = {"ioc": ioc.name, "record": record}
    assert scrape.count(PROCESSED, **labels) == calls
    assert abs(scrape.count(f"{DURATION}_count", **labels) - calls) <= calls / 64
    assert shown_slow(scrape, ioc, record, fast, stopped) == pytest.approx(ioc.get(f"{record}.L"), rel=tolerance)


# The tolerances are some five times the standard deviation of what so few timed calls can tell. How many are timed
# depends on how fast the host is: some are not.
def test_bursts_with_a_slow_first_call(ioc, start_exporter):
    exporter = start_exporter(sees=[ioc])
    ioc.shell("processInBursts S:bursts 500 200 20000")
    scrape = exporter.scrape()
    check(scrape, ioc, "S:bursts", 100_000, 0.1, FAST_IN_BURSTS, STOPPED_IN_BURSTS)
    assert scrape.count(TIMED, ioc=ioc.name) < 10_000


def test_steady_calls(ioc, start_exporter):
    exporter = start_exporter("--records.timed-rate=2000", sees=[ioc])
    ioc.shell("processInBursts S:steady 60000 1 0")
    scrape = exporter.scrape()
    check(scrape, ioc, "S:steady", 60_000, 0.15)
    assert scrape.count(TIMED, ioc=ioc.name) < 60_000


def test_chain_through_a_slow_parent(ioc, start_exporter):
    exporter = start_exporter("--records.timed-rate=2000", sees=[ioc])
    ioc.shell("processInBursts S:parent 40000 1 0")
    scrape = exporter.scrape()
    check(scrape, ioc, "S:parent", 40_000, 0.15)
    check(scrape, ioc, "S:child", 40_000, 0.15)
    assert scrape.count(TIMED, ioc=ioc.name) < 80_000
