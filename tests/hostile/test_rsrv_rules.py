"""Bytes that the specification does not allow and the IOC carries out: the puts that it did are the puts that count.

The IOC's own records say what it did, each test's user which puts are the test's.
"""
import pytest

from harness import databases
from harness.put_counts import Counts
from harness.raw_client import WRITE
from harness.scrape import PUTS
from harness.wire import (CREATE_CHAN, ECHO, ERROR, WRITE_NOTIFY, Wire, client_name, create, long_message, message, write,
                          write_notify)

EXPORTER_OPTIONS = ["--no-collector.records", "--no-server-probe"]  # by the packets alone
DURATIONS = "epics_put_duration_seconds_count"
FAILURES = "epics_put_failures_total"

LONG_NAME = "R:" + "n" * 13  # of 15 characters
DATABASE = databases.put_targets("R:", 3) + f"""
    record(ao,"{LONG_NAME}"){{field(FLNK,"{LONG_NAME}:count")}}
    record(calc,"{LONG_NAME}:count"){{field(CALC,"VAL+1")}}
    record(calcout,"R:slow"){{field(CALC,"VAL+1") field(ODLY,"0.3") field(FLNK,"R:slow:count")}}
    record(calc,"R:slow:count"){{field(CALC,"VAL+1")}}
"""
PVS = ["R:set1", "R:set2", "R:set3", LONG_NAME, "R:slow.A"]
CHAR = 4


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("rsrv_rules", DATABASE)


@pytest.fixture(scope="module")
def small(shared):
    """An IOC that holds requests of 16 KiB, as all of Base 3.14 and 3.15 do where nothing else is configured."""
    limits = ["env", "EPICS_CA_AUTO_ARRAY_BYTES=NO", "EPICS_CA_MAX_ARRAY_BYTES=16384"]
    return shared.ioc("small_requests", databases.put_targets("L:", 3).replace("100000", "60000"), prefix=limits)


@pytest.fixture(scope="module")
def exporter(shared, ioc, small):
    return shared.exporter(sees=[ioc, small])


@pytest.fixture
def wire(started, ioc):
    """wire() -> a new circuit to the IOC; nothing is sent yet."""
    return lambda: started.add(Wire(ioc.port))


@pytest.fixture
def counts(ioc, exporter):
    return Counts(ioc, exporter, PVS)


def test_size_ffff_makes_a_long_header_whatever_the_count(wire, counts):
    one = wire().introduce("long")
    sid, other = one.open("R:set1", "R:set2")
    payload = bytes(8)
    one.send(*[long_message(WRITE, 6, 1, sid, 0, payload, short_count=count) for count in range(1, 24)],
             write(other) * 7)
    # The IOC does not interpret the contents of an array.
    inside = write(other) * 5
    one.send(long_message(WRITE, CHAR, len(inside), sid, 0, inside, short_count=9))
    one.settle(sid)
    counts.check({("R:set1", "long"): 24, ("R:set2", "long"): 7})


def test_first_message_is_not_version(wire, counts):
    one = wire().send(message(ECHO))
    one.wait(lambda: one.all_of(ECHO) or one.all_of(ERROR))
    one.introduce("late-version")
    sid, = one.open("R:set1")
    one.send(write(sid) * 23).settle(sid)
    counts.check({("R:set1", "late-version"): 23})


def test_name_without_its_zero_is_cut(wire, counts):
    one = wire().introduce("no-zero")
    one.send(create(1, LONG_NAME.encode() + b"X"))
    one.wait(lambda: one.all_of(CREATE_CHAN))
    sid = one.all_of(CREATE_CHAN)[0].p2
    one.send(write(sid) * 23).settle(sid)
    counts.check({(LONG_NAME, "no-zero"): 23})


def test_identity_after_the_last_channel(wire, ioc, counts):
    one = wire().introduce("before")
    sid, = one.open("R:set1")
    one.send(write(sid) * 3, message(12, p1=sid, p2=1000), client_name("after"), create(9, "R:set1"))
    one.wait(lambda: len(one.all_of(CREATE_CHAN)) == 2)
    assert "after" in ioc.shell("casr 2")
    sid = one.all_of(CREATE_CHAN)[1].p2
    one.send(write(sid) * 5).settle(sid)
    counts.check({("R:set1", "before"): 3, ("R:set1", "after"): 5})


def test_an_ioid_that_is_still_in_use(wire, ioc, exporter, counts):
    durations = {pv: exporter.scrape().count(DURATIONS, ioc=ioc.name, pv=pv) for pv in ("R:slow.A", "R:set1")}
    one = wire().introduce("same-ioid")
    slow, quick = one.open("R:slow.A", "R:set1")
    one.send(write_notify(slow, 5), write_notify(quick, 5), write_notify(quick, 5))
    one.wait(lambda: len(one.all_of(WRITE_NOTIFY)) == 3)
    counts.check({("R:slow.A", "same-ioid"): 1, ("R:set1", "same-ioid"): 2})
    scrape = exporter.scrape()
    assert scrape.count(DURATIONS, ioc=ioc.name, pv="R:slow.A") == durations["R:slow.A"] + 1
    assert scrape.count(DURATIONS, ioc=ioc.name, pv="R:set1") == durations["R:set1"] + 2


@pytest.mark.parametrize("end", [message(WRITE, 6, 1, 1, 0, bytes(8), size=9), message(5), message(22), message(300),
                                 long_message(WRITE, 6, 1, 1, 0, bytes(12))], ids=range(5))
def test_nothing_counts_behind_a_message_that_ends_the_circuit(wire, counts, end):
    user = f"ends-{len(end)}-{end[1]}-{end[3]}"
    one = wire().introduce(user)
    sid, = one.open("R:set1")
    one.send(write(sid) * 3, end, write(sid) * 23)
    one.wait_closed()
    counts.check({("R:set1", user): 3})


def test_requests_that_are_too_large_are_thrown_away(started, small, exporter):
    """The server says so by an ERROR, and reads on behind them."""
    one = started.add(Wire(small.port)).introduce("other")
    counts = Counts(small, exporter, ["L:array1", "L:set1", "L:set2", "L:set3"])
    first, = one.open("L:set1")
    too_large = message(CREATE_CHAN, p1=7, p2=13, payload=b"L:set2".ljust(20000, b"\0"))
    one.send(too_large, create(8, "L:set3"))
    one.wait(lambda: len(one.all_of(CREATE_CHAN)) == 2)
    one.send(write(one.all_of(CREATE_CHAN)[1].p2) * 9, write(first) * 3).settle(first)
    counts.check({("L:set1", "other"): 3, ("L:set3", "other"): 9})
    two = started.add(Wire(small.port)).introduce("large")
    array, sid = two.open("L:array1", "L:set1")
    two.send(write(sid) * 5, long_message(WRITE, 6, 10000, array, 1, bytes(80000)), write(sid) * 7)
    two.send(long_message(WRITE_NOTIFY, 6, 10000, array, 2, bytes(80000)), write(sid) * 11).settle(sid)
    assert small.get("L:array1:count.VAL") == 0 and small.get("L:set1:count.VAL") == 26
    page = exporter.wait_scrape(lambda page: page.count(FAILURES, ioc=small.name, reason="too_large") == 2, "failures")
    asked = {labels["pv"]: 0 for labels, _ in page.series(PUTS, ioc=small.name, user="large")}
    for labels, count in page.series(PUTS, ioc=small.name, user="large"):
        asked[labels["pv"]] += int(count)
    assert asked == {"L:array1": 2, "L:set1": 23}  # it was asked for both, and refused both
    assert page.count("ioc_exporter_dropped_total", probe="ca_tap", reason="lost") == 0
