"""Scan lists and asynchronous records: what the records know of themselves, and what is timed."""
import time

import pytest

from harness import databases, env
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]

SCAN = "epics_ioc_scan_list_duration_seconds"
LAST = "epics_ioc_scan_last_timestamp_seconds"
AGE = "epics_ioc_scan_age_seconds"
COMPLETION = "epics_record_completion_duration_seconds"
PERIODS = {"0.1": 0.1, "0.2": 0.2, "0.5": 0.5, "1": 1.0, "2": 2.0, "5": 5.0, "10": 10.0}
SCANS = 13


@pytest.mark.outer_bases
def test_scan_lists_and_completions(start_ioc, start_exporter, base):
    ioc = start_ioc(f"extras-{base}", databases.scans_and_asynchronous("X:"), base=base,
                    lib_dir=env.base_dir(base) / "lib")
    exporter = start_exporter(sees=[ioc])
    check_scans(ioc, exporter)
    check_completions(ioc, exporter)


def check_scans(ioc, exporter):
    """The only record of the fastest list counts the passes; a pass may lie between two readings."""
    def passes(scrape):
        return scrape.count(f"{SCAN}_count", ioc=ioc.name, period="0.1")

    wait_until(lambda: passes(exporter.scrape()) > 0, "a scan")
    low, before, high = ioc.get("X:scan.VAL"), exporter.scrape(), ioc.get("X:scan.VAL")
    assert low <= high
    wait_until(lambda: ioc.get("X:scan.VAL") >= high + SCANS, "scans")
    first, after, last = ioc.get("X:scan.VAL"), exporter.scrape(), ioc.get("X:scan.VAL")
    # A pass is counted at its end, the record a little before.
    assert first - high - 1 <= passes(after) - passes(before) <= last - low + 1
    shown = {labels["period"]: value for labels, value in
             after.series("epics_ioc_scan_period_seconds", ioc=ioc.name)}
    assert shown.items() <= PERIODS.items() and "0.1" in shown
    beat = after.value(LAST, ioc=ioc.name, period="0.1")
    assert beat > before.value(LAST, ioc=ioc.name, period="0.1")
    asked, latest = time.time(), exporter.scrape()
    now = latest.value(LAST, ioc=ioc.name, period="0.1") + latest.value(AGE, ioc=ioc.name, period="0.1")
    assert asked - 0.1 <= now <= time.time() + 0.1, "the age is that of the pass"
    seconds = after.value(f"{SCAN}_sum", ioc=ioc.name, period="0.1")
    assert 0 < seconds < passes(after)


def check_completions(ioc, exporter):
    """The probe comes with the first asynchronous record that is seen; from then on each one counts."""
    def counts():
        return {labels["record"]: value for labels, value in
                exporter.scrape().series(f"{COMPLETION}_count", ioc=ioc.name)}

    def process(record):
        ioc.process_once(record)
        wait_until(lambda: ioc.get(f"{record}.PACT") == 0, f"the completion of {record}")

    def first_is_counted():
        process("X:slow")
        return counts()

    before = wait_until(first_is_counted, "the probe of completions")["X:slow"]
    for _ in range(7):
        for record in ("X:slow", "X:sync", "X:quick"):
            process(record)
    assert counts() == {"X:slow": before + 7, "X:quick": 7}
    scrape = exporter.scrape()
    # ODLY of the record is 0.3 s; its timer may be early by half a tick of EPICS.
    assert scrape.value(f"{COMPLETION}_sum", ioc=ioc.name, record="X:slow") > (before + 7) * 0.25
    buckets = {labels["le"]: value for labels, value in
               scrape.series(f"{COMPLETION}_bucket", ioc=ioc.name, record="X:slow")}
    assert buckets["0.25"] == 0 and buckets["+Inf"] == before + 7
