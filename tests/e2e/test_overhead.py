"""The bound on what the probes cost: over the budget, detached by hand, IOCs that are held."""
import os
import signal

import pytest

from harness import databases
from harness.scrape import DURATION, PROCESSED

WATCHED = "epics_ioc_records_watched"
OVERHEAD = "ioc_exporter_ioc_overhead_seconds_total"
EMPTY_PROBE = "ioc_exporter_probe_hit_seconds"
DETACHED = "ioc_exporter_detached"
ATTACHMENTS = "ioc_exporter_probe_attachments"


def busy(records: int) -> str:
    """Counting records, each scanned ten times a second, and one that is not."""
    return "".join(f'record(calc,"B:{i}"){{field(SCAN,".1 second") field(CALC,"VAL+1")}}\n'
                   for i in range(records)) + 'record(calc,"B:once"){field(CALC,"VAL+1")}\n'


@pytest.fixture(scope="module")
def one_ioc(shared):
    return shared.ioc("guarded", databases.counting(), macros="P=G:")


@pytest.fixture
def ioc(one_ioc):
    one_ioc.put("G:scan.SCAN", ".1 second")
    return one_ioc


def processed(exporter, ioc, record="G:chain3") -> int:
    return exporter.scrape().count(PROCESSED, ioc=ioc.name, record=record)


def test_cost_of_a_hit_is_measured_and_no_budget_is_no_bound(ioc, start_exporter):
    exporter = start_exporter(sees=[ioc])
    scrape = exporter.wait_scrape(lambda s: s.value(OVERHEAD, ioc=ioc.name, probe="record_process"), "a cost that is not 0")
    assert 0 < scrape.value(EMPTY_PROBE, instruction="emulated") <= scrape.value(EMPTY_PROBE, instruction="stepped")
    assert scrape.value(WATCHED, ioc=ioc.name) == 1
    assert scrape.value(DETACHED) == 0


OF_RECORDS = [PROCESSED, f"{DURATION}_count", "epics_record_process_self_seconds_total", "epics_record_writes_total",
              "epics_ioc_processings_total", "epics_ioc_timed_total", "epics_ioc_alarm_transitions_total",
              "epics_ioc_scan_list_duration_seconds_count", "epics_ioc_timed_ratio"]


def test_over_the_budget_the_records_are_absent_until_the_load_has_fallen(start_ioc, start_exporter, raw_client):
    ioc = start_ioc("busy", busy(499))
    # Counting costs several times as much.
    exporter = start_exporter("--overhead.budget=0.1", "--server-probe", "--ioc.include=busy", sees=[ioc])
    client = raw_client(ioc)
    channel = client.create("B:once.INPA")
    last = 0

    def is_over(scrape) -> bool:
        nonlocal last
        if scrape.series(PROCESSED, ioc=ioc.name):
            count = scrape.count(PROCESSED, ioc=ioc.name, record="B:7")
            assert last <= count <= ioc.get("B:7.VAL")
            last = count
        return scrape.value(WATCHED, ioc=ioc.name) == 0

    scrape = exporter.wait_scrape(is_over, "its records are not counted")
    assert last > 0, "not within the time until it is over its budget: a scrape with counts"
    assert [family for family in OF_RECORDS if scrape.series(family, ioc=ioc.name)] == []
    assert scrape.total("epics_ioc_records", ioc=ioc.name) == 500
    assert scrape.value("epics_ioc_up", ioc=ioc.name) == 1
    assert b"more than --overhead.budget" in exporter.request("/")[2]
    log = exporter.process.stderr()
    assert log.index("not timed until the load has fallen") < log.index("not counted until the load has fallen")
    for i in range(23):
        client.write_text(channel, str(i))
    client.get(channel)
    scrape = exporter.wait_scrape(lambda s: s.total("epics_puts_total", ioc=ioc.name) == 23, "puts, as ever")
    assert scrape.put_source(ioc) == "server"
    cost = scrape.value(EMPTY_PROBE, instruction="emulated")
    assert scrape.value(OVERHEAD, ioc=ioc.name, probe="ca_server_probe") == pytest.approx(23 * 1.2 * cost)

    ioc.shell("iocPause")  # the scans stop
    exporter.wait_scrape(lambda s: s.value(WATCHED, ioc=ioc.name) == 1, "its records are counted again", 120)
    assert last <= processed(exporter, ioc, "B:7") <= ioc.get("B:7.VAL")
    before = processed(exporter, ioc, "B:once")
    ioc.process_once("B:once", times=23)
    assert processed(exporter, ioc, "B:once") == before + 23


def test_detached_by_signal_and_by_post(ioc, start_ioc, start_exporter):
    exporter = start_exporter("--web.enable-lifecycle", "--ioc.include=guarded|late", sees=[ioc])
    ioc.put("G:scan.SCAN", "Passive")
    ioc.process_once("G:chain3", times=23)
    start = processed(exporter, ioc)

    def is_detached(scrape, wanted: int) -> bool:
        return scrape.value(DETACHED) == wanted and exporter.request("/-/ready")[0] == (503 if wanted else 200)

    exporter.process.popen.send_signal(signal.SIGUSR1)
    scrape = exporter.wait_scrape(lambda s: is_detached(s, 1), "detached by SIGUSR1")
    for probe in ("record_process", "ca_tap"):
        assert scrape.value(ATTACHMENTS, probe=probe) == 0
    assert scrape.value(WATCHED, ioc=ioc.name) == 0
    assert b"All probes are detached" in exporter.request("/")[2]
    ioc.process_once("G:chain3", times=7)
    late = start_ioc("late", 'record(calc,"L:a"){field(CALC,"VAL+1")}')
    exporter.wait_scrape(lambda s: s.ioc_of_pid(late.pid), "the IOC that was started meanwhile")
    assert exporter.scrape().value(ATTACHMENTS, probe="record_process") == 0
    assert processed(exporter, ioc) == start

    exporter.process.popen.send_signal(signal.SIGUSR2)
    exporter.wait_scrape(lambda s: is_detached(s, 0), "attached by SIGUSR2")
    assert exporter.scrape().value(ATTACHMENTS, probe="ca_tap") >= 1
    exporter.wait_up(late)
    ioc.process_once("G:chain3", times=11)
    late.process_once("L:a", times=13)
    assert processed(exporter, ioc) == start + 11
    assert processed(exporter, late, "L:a") == 13

    assert exporter.request("/-/detach")[0] == 405
    assert exporter.request("/-/detach", "POST", {"Origin": "http://elsewhere"})[0] == 403
    assert exporter.request("/-/detach", "POST")[0::2] == (200, b"detached\n")
    ioc.process_once("G:chain3", times=5)
    assert exporter.request("/-/attach", "POST")[0::2] == (200, b"attached\n")
    ioc.process_once("G:chain3", times=3)
    assert processed(exporter, ioc) == start + 14


def test_lifecycle_is_off_by_default(start_exporter):
    exporter = start_exporter()
    assert exporter.request("/-/detach", "POST")[0] == 405
    assert exporter.scrape().value(DETACHED) == 0


def test_an_ioc_that_is_held_is_left_alone(ioc, start_exporter):
    exporter = start_exporter(f"--ioc.include={ioc.name}", sees=[ioc])
    ioc.put("G:scan.SCAN", "Passive")
    ioc.process_once("G:chain3", times=23)
    before = processed(exporter, ioc)

    os.kill(ioc.pid, signal.SIGSTOP)
    exporter.wait_scrape(lambda s: (s.value(WATCHED, ioc=ioc.name), s.value(ATTACHMENTS, probe="record_process")) == (0, 0),
                         "no probe in an IOC that is stopped")
    assert b"left alone: " in exporter.request("/")[2]
    os.kill(ioc.pid, signal.SIGCONT)
    exporter.wait_scrape(lambda s: s.value(WATCHED, ioc=ioc.name) == 1 and s.value(ATTACHMENTS, probe="record_process") > 0,
                         "the probes are back")
    ioc.process_once("G:chain3", times=7)
    assert processed(exporter, ioc) == before + 7
