"""An IOC's own variables: scan lists, queues, suspended threads, states of its records."""
import os
import re
import signal
import time

import pytest

from harness import env
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]

SEVERITY = "epics_ioc_records_by_severity"
QUEUE_SIZE, ONCE_SIZE = 2000, 1000


def database() -> str:
    """2 records scanned at 0.1 s, 3 in minor and 5 in major alarm, 2 never processed, 2 that wait for their own delay, 1 that hangs."""
    alarm = 'field(CALC,"7") field(HIGH,"5") field(HIHI,"99") field(PINI,"YES")'
    lines = [f'record(calc,"M:fast{i}"){{field(SCAN,".1 second") field(CALC,"VAL+1")}}'
             for i in range(2)]
    lines += ['record(calc,"M:ten"){field(SCAN,"10 second") field(CALC,"1") field(PINI,"YES")}']
    lines += [f'record(calc,"M:minor{i}"){{{alarm} field(HSV,"MINOR")}}' for i in range(3)]
    lines += [f'record(calc,"M:major{i}"){{{alarm} field(HSV,"MAJOR")}}' for i in range(5)]
    lines += [f'record(calc,"M:never{i}"){{field(CALC,"1")}}' for i in range(2)]
    lines += ['record(calcout,"M:slow"){field(CALC,"VAL+1") field(ODLY,"1000")}',
              'record(seq,"M:steps"){field(DLY1,"1000") field(DO1,"1") field(LNK1,"M:never0")}',
              'record(sub,"M:hung"){field(SNAM,"busy")}']
    return "\n".join(lines) + "\n"


EXPECTED = {"no_alarm": 3, "minor": 3, "major": 5, "invalid": 5}


@pytest.fixture
def ioc(start_ioc, base):
    """Always the launcher: it has the commands that bring the IOC into trouble."""
    return start_ioc(f"memory-{base}", database(), base=base,
                     lib_dir=env.base_dir(base) / "lib")


def by_label(scrape, name, ioc, label):
    return {labels[label]: int(value) for labels, value in scrape.series(name, ioc=ioc.name)}


def overruns_told_by(ioc):
    """{period in seconds: overruns} as the IOC's shell prints them, of lists with records."""
    lines = re.findall(r"SCAN = '(\S+) second' \((\d+) over-runs\)", ioc.shell("scanppl"))
    return {f"{float(period):g}": int(count) for period, count in lines}


def queue_told_by(ioc, name):
    """(high-water mark, length, capacity, overflows) as the IOC's shell prints them."""
    row = re.search(rf"^\s*{name}((?:\s+[\d.]+)+)$", ioc.shell("callbackQueueShow"), re.MULTILINE)
    high, length, capacity, _, overflows = row[1].split()
    return int(high), int(length), int(capacity), int(overflows)


def page(exporter):
    return exporter.request("/")[2].decode()


@pytest.mark.outer_bases
def test_values_of_its_variables(ioc, start_exporter, base):
    """One IOC a Base: starting it takes longer than what is looked at."""
    exporter = start_exporter("--records.stuck-after=300ms", sees=[ioc])
    check_scan_lists_and_states_of_records(ioc, exporter)
    check_overruns(ioc, exporter)
    check_queues_and_suspended_threads(ioc, exporter)


def check_scan_lists_and_states_of_records(ioc, exporter):
    scrape = exporter.wait_scrape(lambda s: by_label(s, SEVERITY, ioc, "severity") == EXPECTED,
                                  "severities as the database makes them")
    assert by_label(scrape, "epics_ioc_scan_records", ioc, "period") == {
        "0.1": 2, "10": 1}, "of lists with records"
    assert scrape.value("epics_ioc_records_stuck", ioc=ioc.name) == 0
    assert scrape.value("epics_ioc_threads_suspended", ioc=ioc.name) == 0
    sampled = scrape.value("epics_ioc_records_sampled_timestamp_seconds", ioc=ioc.name)
    assert abs(time.time() - sampled) < 60
    assert "Stuck records" not in page(exporter)

    waiting = ("M:slow", "M:steps")
    for record in (*waiting, "M:hung"):
        ioc.process_once(record)
    counts = lambda s: [s.value(f"epics_ioc_records_{name}", ioc=ioc.name) for name in ("in_flight", "stuck")]
    exporter.wait_scrape(lambda s: counts(s) == [3, 1], "one record is stuck, two wait for their own delays")
    wait_until(lambda: "Waiting records" in page(exporter), "they are told")
    stuck, _, rest = page(exporter).partition("Waiting records")
    assert "Stuck records" in stuck and "M:hung" in stuck.partition("Stuck records")[2]
    assert all(record in rest and record not in stuck.partition("Stuck records")[2] for record in waiting)


@pytest.mark.outer_bases
def test_active_since_iocinit(start_ioc, start_exporter, base):
    """A sub record without SNAM is left active by iocInit, as records of device support without a device are."""
    broken = "".join(f'record(sub,"M:broken{i}"){{}}\n' for i in range(7))
    ioc = start_ioc(f"memory-broken-{base}", database() + broken, base=base, lib_dir=env.base_dir(base) / "lib")
    exporter = start_exporter("--records.stuck-after=300ms", sees=[ioc])

    def counts(scrape):
        return [scrape.value(f"epics_ioc_records_{name}", ioc=ioc.name) for name in ("never_processed", "stuck", "in_flight")]
    exporter.wait_scrape(lambda s: counts(s) == [7, 0, 7], "they are active, and not stuck")
    text = page(exporter)
    assert "active and have never completed a processing: M:broken0, M:broken1, M:broken2, M:broken3, M:broken4 and 2 more" in text
    assert "Stuck records" not in text
    ioc.process_once("M:hung")
    exporter.wait_scrape(lambda s: counts(s) == [7, 1, 8], "a record is stuck")


def check_overruns(ioc, exporter):
    """Stopped for three periods, it cannot keep up."""
    before = overruns_told_by(ioc)["0.1"]
    os.kill(ioc.pid, signal.SIGSTOP)
    time.sleep(0.35)
    os.kill(ioc.pid, signal.SIGCONT)
    wait_until(lambda: overruns_told_by(ioc)["0.1"] > before, "an overrun")

    def agree(scrape):
        counted = by_label(scrape, "epics_ioc_scan_overruns_total", ioc, "period")
        return overruns_told_by(ioc).items() <= counted.items()
    exporter.wait_scrape(agree, "the overruns that scanppl tells")


def check_queues_and_suspended_threads(ioc, exporter):
    scrape = exporter.wait_scrape(lambda s: s.series("epics_ioc_queue_capacity", ioc=ioc.name),
                                  "queues")
    assert by_label(scrape, "epics_ioc_queue_capacity", ioc, "queue") == {
        "low": QUEUE_SIZE, "medium": QUEUE_SIZE, "high": QUEUE_SIZE, "once": ONCE_SIZE}
    assert sum(by_label(scrape, "epics_ioc_queue_overflows_total", ioc, "queue").values()) == 0

    def queue(scrape, queue):
        return tuple(scrape.count(f"epics_ioc_queue_{what}", ioc=ioc.name, queue=queue)
                     for what in ("high_water_mark", "length", "capacity", "overflows_total"))

    ioc.shell("suspendCallbacks 0")
    exporter.wait_scrape(lambda s: s.value("epics_ioc_threads_suspended", ioc=ioc.name) == 1,
                         "one suspended thread")
    assert "suspended threads: cbLow" in page(exporter)
    ioc.shell("requestCallbacks 0 23")
    scrape = exporter.scrape()
    assert scrape.value("epics_ioc_queue_length", ioc=ioc.name, queue="low") == 23
    assert queue(scrape, "low") == queue_told_by(ioc, "cbLow")
    ioc.shell(f"requestCallbacks 0 {QUEUE_SIZE}")
    scrape = exporter.scrape()
    assert queue(scrape, "low") == (QUEUE_SIZE, QUEUE_SIZE, QUEUE_SIZE, 1)
    assert queue(scrape, "low") == queue_told_by(ioc, "cbLow")
    assert queue(scrape, "medium")[3] == 0

    ioc.shell("epicsThreadResume cbLow")
    exporter.wait_scrape(lambda s: queue(s, "low") == (QUEUE_SIZE, 0, QUEUE_SIZE, 1),
                         "the queue is empty again")
    exporter.wait_scrape(lambda s: s.value("epics_ioc_threads_suspended", ioc=ioc.name) == 0,
                         "no suspended thread")
