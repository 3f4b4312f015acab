"""Metrics of records equal the records' own counts."""
import os

import pytest

from harness import databases
from harness.scrape import DURATION, PROCESSED, SKIPPED, difference
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]

CHAIN = ["P:scan", "P:chain1", "P:chain2", "P:chain3"]
COUNTING = [*CHAIN, "P:async", "P:tail"]
PROCESSINGS = 23


def values(ioc, records):
    """Once nothing is under way."""
    wait_until(lambda: ioc.get("P:async.PACT") == 0, "the end of the asynchronous record")
    return {record: ioc.get_settled([f"{record}.VAL"])[f"{record}.VAL"] for record in records}


def time_of_start(pid):
    """Seconds since 1970, from /proc."""
    with open(f"/proc/{pid}/stat") as stat:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/stat") as stat:
        boot = next(int(line.split()[1]) for line in stat if line.startswith("btime"))
    return boot + ticks / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def counting_ioc(shared, base):
    return shared.ioc(f"counting-{base}", databases.counting(), base=base, macros="P=P:")


@pytest.fixture(scope="module")
def counting_exporter(shared, counting_ioc):
    return shared.exporter(f"--ioc.include={counting_ioc.name}", sees=[counting_ioc])


@pytest.mark.every_base
def test_scan_chain_is_counted_exactly(counting_ioc, counting_exporter):
    """The exporter started while the IOC scanned at 10 Hz: what it counts from then on is exact."""
    ioc, exporter = counting_ioc, counting_exporter
    ioc.put("P:scan.SCAN", "Passive")
    true_before = values(ioc, COUNTING)
    before = exporter.scrape()

    ioc.put("P:scan.SCAN", ".1 second")
    wait_until(lambda: ioc.get("P:scan.VAL") >= true_before["P:scan"] + PROCESSINGS, "scans")
    ioc.put("P:scan.SCAN", "Passive")
    true_after = values(ioc, COUNTING)
    after = exporter.scrape()

    truth = difference(true_after, true_before)
    assert truth["P:scan"] >= PROCESSINGS
    counted = difference(after.counts(PROCESSED, ioc.name, COUNTING),
                         before.counts(PROCESSED, ioc.name, COUNTING))
    assert counted == truth
    # Each pass of the chain calls dbProcess of the asynchronous record; some calls may find it busy.
    skipped = difference(after.counts(SKIPPED, ioc.name, ["P:async"], reason="active"),
                         before.counts(SKIPPED, ioc.name, ["P:async"], reason="active"))
    assert counted["P:async"] + skipped["P:async"] == truth["P:chain3"]
    for record in CHAIN:
        assert after.total(SKIPPED, ioc=ioc.name, record=record) == 0


@pytest.mark.outer_bases
def test_record_that_is_switched_off_and_on(counting_ioc, start_exporter):
    """dbProcess itself fetches DISA through SDIS: the value at its entry is the old one."""
    ioc = counting_ioc
    exporter = start_exporter(sees=[ioc])
    start, done = ioc.get("P:gated.VAL"), {0: 0, 1: 0}
    for gate, times in [(1, 11), (0, 5), (1, 2), (0, 1), (1, 1), (0, 7)]:
        ioc.put("P:gate.VAL", gate)
        for _ in range(times):
            ioc.put("P:gated.PROC", 1)
        done[gate] += times
    scrape = exporter.scrape()
    labels = {"ioc": ioc.name, "record": "P:gated"}
    assert ioc.get("P:gated.VAL") - start == done[0]
    assert scrape.count(PROCESSED, **labels) == done[0]
    assert scrape.count(f"{DURATION}_count", **labels) == done[0]
    assert scrape.count(SKIPPED, reason="disabled", **labels) == done[1]
    assert scrape.total(SKIPPED, **labels) == done[1]
    assert scrape.count(PROCESSED, ioc=ioc.name, record="P:gate") == 6


@pytest.mark.outer_bases
def test_active_record_is_skipped(counting_ioc, counting_exporter):
    ioc, exporter = counting_ioc, counting_exporter
    wait_until(lambda: ioc.process_once("P:trigger") or ioc.get("P:slow.LCNT") == 7,
               "seven calls that find the record active, by its own count")
    # A put to PROC of a busy record calls no dbProcess: it asks for one more when the record is done.
    processed, calls = ioc.get("P:slow.VAL") + 1, ioc.get("P:trigger.VAL")
    ioc.put("P:slow.PROC", 1)
    wait_until(lambda: ioc.get("P:slow.VAL") == processed, "processing once more")
    wait_until(lambda: ioc.get("P:slow.PACT") == 0, "the end of the last processing")
    scrape = exporter.scrape()
    labels = {"ioc": ioc.name, "record": "P:slow"}
    assert scrape.count(PROCESSED, **labels) == processed
    assert scrape.count(SKIPPED, reason="active", **labels) == calls + 1 - processed >= 7
    assert scrape.total(SKIPPED, **labels) == calls + 1 - processed
    assert scrape.count(PROCESSED, ioc=ioc.name, record="P:trigger") == calls


@pytest.mark.outer_bases
def test_each_processing_has_one_cause(counting_ioc, start_exporter):
    """Periodic scan, links, the completion of an asynchronous record by a callback, and the shell."""
    ioc = counting_ioc
    exporter = start_exporter("--records.causes", sees=[ioc])
    ioc.put("P:scan.SCAN", "Passive")
    true_before = values(ioc, COUNTING)
    before = exporter.scrape()

    ioc.put("P:scan.SCAN", ".1 second")
    wait_until(lambda: ioc.get("P:scan.VAL") >= true_before["P:scan"] + PROCESSINGS, "scans")
    ioc.put("P:scan.SCAN", "Passive")
    ioc.process_once("P:chain2", times=7)
    truth = difference(values(ioc, COUNTING), true_before)
    after = exporter.scrape()

    def grown(name, **labels):
        return after.total(name, ioc=ioc.name, **labels) - before.total(name, ioc=ioc.name, **labels)

    linked = {record: truth[record] for record in ("P:chain1", "P:chain3", "P:async")}
    linked["P:chain2"] = truth["P:chain2"] - 7
    causes = {("scan", "0.1"): truth["P:scan"], ("main", ""): 7, ("callback", ""): truth["P:tail"],
              ("link", ""): sum(linked.values())}
    assert {(cause, period): grown("epics_ioc_processings_total", cause=cause, period=period)
            for cause, period in causes} == causes
    assert grown("epics_ioc_processings_total") == grown(PROCESSED) == sum(causes.values())
    for record in linked:
        assert grown("epics_record_process_cause_total", record=record, cause="link") == linked[record]
    assert grown("epics_record_process_cause_total", record="P:chain2", cause="main") == 7
    assert grown("epics_record_process_cause_total") == sum(causes.values())


@pytest.mark.outer_bases
def test_names_and_types_are_those_of_dbl(counting_ioc, counting_exporter):
    ioc = counting_ioc
    listed = ioc.records()
    assert listed.pop("P:nick") == "calc"  # dbl lists aliases; an alias is no record
    scrape = counting_exporter.scrape()
    info = {labels["record"]: labels["record_type"] for labels, value in
            scrape.series(PROCESSED, ioc=ioc.name)}
    assert info == listed
    types = {labels["record_type"]: value for labels, value in
             scrape.series("epics_ioc_records", ioc=ioc.name) if value}
    assert types == {kind: list(listed.values()).count(kind) for kind in set(listed.values())}


@pytest.mark.outer_bases
def test_base_version_and_start_time(counting_ioc, counting_exporter, base):
    ioc = counting_ioc
    scrape = counting_exporter.scrape()
    (labels, value), = scrape.series("epics_ioc_info", ioc=ioc.name)
    assert value == 1
    assert labels["base_version"].startswith(base)
    assert labels["ca_port"] == str(ioc.port)
    assert labels["executable"] == os.readlink(f"/proc/{ioc.pid}/exe")
    assert scrape.value("epics_ioc_start_time_seconds", ioc=ioc.name) == pytest.approx(
        time_of_start(ioc.pid), abs=1.0)
