"""What processes records besides clients and periodic scans: drivers, I/O interrupts, events, threads of modules."""
import pytest

from harness import env
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts", "--records.causes"]

SINCE = "epics_ioc_direct_counted_since_timestamp_seconds"
PROCESSED = "epics_record_process_total"

DATABASE = """
    record(calc,"D:direct"){field(CALC,"VAL+1") field(FLNK,"D:next")}
    record(calc,"D:next"){field(CALC,"VAL+1")}
    record(calc,"D:usual"){field(CALC,"VAL+1") field(FLNK,"D:next")}
    record(longin,"D:io"){field(DTYP,"Test Interrupt") field(SCAN,"I/O Intr")}
    record(calc,"D:event"){field(CALC,"VAL+1") field(SCAN,"Event") field(EVNT,"7")}
"""


def start(start_ioc, name, base, more=""):
    return start_ioc(f"{name}-{base}", DATABASE + more, base=base, lib_dir=env.base_dir(base) / "lib")


def causes(scrape, ioc):
    return {(labels["cause"], labels["period"]): value for labels, value in
            scrape.series("epics_ioc_processings_total", ioc=ioc.name) if value}


def added(before, after):
    return {key: value - before.get(key, 0) for key, value in after.items() if value != before.get(key, 0)}


def processed(scrape, ioc):
    return {labels["record"]: value for labels, value in scrape.series(PROCESSED, ioc=ioc.name)}


def until_counted(ioc, exporter):
    """A look finds the driver, and the probe stays."""
    def is_counted():
        ioc.shell("processDirectly D:direct 1 poller")
        return exporter.scrape().series(SINCE, ioc=ioc.name)
    wait_until(is_counted, "the look that finds processings without dbProcess", timeout=75)


@pytest.mark.outer_bases
def test_processings_without_dbprocess(start_ioc, start_exporter, base):
    ioc = start(start_ioc, "direct", base)
    exporter = start_exporter(sees=[ioc])
    assert not exporter.scrape().series(SINCE, ioc=ioc.name)
    until_counted(ioc, exporter)
    ioc.process_once("D:usual")
    before, values = exporter.scrape(), {name: ioc.get(f"D:{name}") for name in ("direct", "next", "usual")}
    ioc.shell("processDirectly D:direct 17 poller")
    ioc.shell("processInNamed D:direct 13 poller")
    ioc.shell("processDirectly D:direct 1 poller")
    for _ in range(7):
        ioc.process_once("D:usual")
    # Nothing was owed to it: each is one of its own.
    ioc.shell("processDirectly D:usual 5 other")
    after = exporter.scrape()
    assert {name: ioc.get(f"D:{name}") - value for name, value in values.items()} == {
        "direct": 31, "next": 43, "usual": 12}
    assert added(processed(before, ioc), processed(after, ioc)) == {"D:direct": 31, "D:next": 43, "D:usual": 12}
    assert added(causes(before, ioc), causes(after, ioc)) == {
        ("direct", ""): 17 + 1 + 5, ("other", ""): 13, ("main", ""): 7, ("link", ""): 43}
    def of_record(scrape):
        return {(labels["record"], labels["cause"]): value for labels, value in
                scrape.series("epics_record_process_cause_total", ioc=ioc.name)}
    assert added(of_record(before), of_record(after)) == {
        ("D:direct", "direct"): 18, ("D:direct", "other"): 13, ("D:usual", "direct"): 5, ("D:usual", "main"): 7,
        ("D:next", "link"): 43}


def by_thread(scrape, ioc):
    return {labels["thread"]: value for labels, value in
            scrape.series("epics_ioc_process_by_thread_total", ioc=ioc.name)}


@pytest.mark.outer_bases
def test_interrupts_events_and_threads(start_ioc, start_exporter, base):
    ioc = start(start_ioc, "interrupts", base)
    exporter = start_exporter(sees=[ioc])
    ioc.process_once("D:next")
    before = exporter.scrape()
    ioc.shell("requestIo D:io 13")
    ioc.shell("postEvents 7 D:event 11")
    for thread, times in ("motorPoller-3", 7), ("motorPoller-4", 5), ("seqProgram", 3):
        ioc.shell(f"processInNamed D:usual {times} {thread}")
    ioc.process_once("D:usual", 2)
    after = exporter.scrape()
    assert ioc.get("D:io.VAL") == 13 and ioc.get("D:event.VAL") == 11
    assert added(causes(before, ioc), causes(after, ioc)) == {
        ("io_intr", ""): 13, ("event", ""): 11, ("other", ""): 15, ("main", ""): 2, ("link", ""): 17}
    threads = added(by_thread(before, ioc), by_thread(after, ioc))
    [main] = threads.keys() - {"cbLow", "motorPoller", "seqProgram"}
    assert threads == {"cbLow": 24, "motorPoller": 12, "seqProgram": 3, main: 2}
    linked = causes(after, ioc)["link", ""]
    assert sum(by_thread(after, ioc).values()) + linked == sum(causes(after, ioc).values())
