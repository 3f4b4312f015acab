"""Threads that wait for a record's lock: exactly how many, for which record, and who holds it."""
import re

import pytest

from harness import env
from harness.exporter import run_exporter

EXPORTER_OPTIONS = ["--no-collector.puts"]

WAITING = "epics_ioc_lock_waiting_threads"
OLDEST = "epics_ioc_lock_wait_oldest_seconds"
CLIENTS = 5

RECORDS = """
record(sub, "LW:hold") { field(SNAM, "wait_inside") field(FLNK, "LW:next") }
record(calc, "LW:next") { field(CALC, "VAL+1") field(INPB, "LW:first NPP") }
record(ao, "LW:first") {}
record(ao, "LW:apart") {}
record(sub, "LW:throws") { field(SNAM, "throw_inside") field(FLNK, "LW:after") }
record(ao, "LW:after") {}
"""


@pytest.fixture(params=["7.0.4", "7.0.10"])
def ioc(request, start_ioc):
    return start_ioc(f"locks-{request.param}", RECORDS, base=request.param, lib_dir=env.base_dir(request.param) / "lib")


def listed(exporter, ioc):
    """(record, held by, waiting) of each lock that threads of the IOC wait for."""
    done = run_exporter("locks", f"--url=http://127.0.0.1:{exporter.port}")
    assert done.returncode == 0
    if done.stdout == "no thread waits for the lock of a record\n":
        return []
    header, *rows = [re.split("  +", line) for line in done.stdout.splitlines()]
    assert header == ["IOC", "RECORD", "HELD BY", "WAITING THREADS", "FOR AT LEAST"]
    return [tuple(row[1:4]) for row in rows if row[0] == ioc.name]


def waiting(page, ioc):
    return page.count(WAITING, ioc=ioc.name)


def wait_waiting(exporter, ioc, count):
    return exporter.wait_scrape(lambda page: page.series(WAITING, ioc=ioc.name) and waiting(page, ioc) == count,
                                f"{count} threads wait")


def writers(raw_client, ioc, pv, count):
    """Each on a circuit of its own, so in a thread of its own."""
    for number in range(count):
        client = raw_client(ioc, f"writer{number}")
        client.write(client.create(pv), number)


def hold(raw_client, ioc):
    client = raw_client(ioc, "holder")
    client.write(client.create("LW:hold.A"), 1)
    ioc.process.wait_for("^@inside$")


def test_a_driver_that_sleeps_in_a_record(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    page = wait_waiting(exporter, ioc, 0)
    assert page.value(OLDEST, ioc=ioc.name) == 0
    assert listed(exporter, ioc) == []
    hold(raw_client, ioc)
    writers(raw_client, ioc, "LW:first", CLIENTS)
    page = wait_waiting(exporter, ioc, CLIENTS)
    assert page.value(OLDEST, ioc=ioc.name) > 1
    record = "LW:hold and 2 more of its lock set"
    assert listed(exporter, ioc) == [(record, "CAS-client, which processes the record", f"CAS-client ({CLIENTS})")]
    landing = exporter.request("/")[2].decode()
    assert "Locks of records that threads wait for" in landing and record in landing
    # Others go on.
    apart = raw_client(ioc, "apart")
    assert apart.write_notify(apart.create("LW:apart"), 7) == 1
    # Two more come, and wait for the same.
    writers(raw_client, ioc, "LW:next.A", 2)
    wait_waiting(exporter, ioc, CLIENTS + 2)
    # Those who wrote to LW:next.A process it.
    ioc.shell("letGo")
    page = wait_waiting(exporter, ioc, 0)
    assert page.value(OLDEST, ioc=ioc.name) == 0 and listed(exporter, ioc) == []
    assert ioc.get("LW:first.VAL") < CLIENTS and ioc.get("LW:next.VAL") == 3


def test_an_exception_leaves_the_lock(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    wait_waiting(exporter, ioc, 0)
    ioc.shell("dbtr LW:throws")
    writers(raw_client, ioc, "LW:after", 3)
    wait_waiting(exporter, ioc, 3)
    # The shell's thread has caught it.
    [(record, holder, waiting_threads)] = listed(exporter, ioc)
    assert (record, waiting_threads) == ("LW:throws and 1 more of its lock set", "CAS-client (3)")
    assert holder.startswith("ioc_launcher")


def test_what_is_no_wait_for_a_lock(ioc, start_exporter, raw_client):
    """Records that are busy, one after the other, threads that sleep, and a driver that holds what nobody wants."""
    exporter = start_exporter(sees=[ioc])
    hold(raw_client, ioc)
    ioc.shell("processInBursts LW:apart 100 3 1000")
    for _ in range(7):
        wait_waiting(exporter, ioc, 0)
        ioc.shell("processInBursts LW:apart 1000 20 20000")
    assert listed(exporter, ioc) == []
    ioc.shell("letGo")
