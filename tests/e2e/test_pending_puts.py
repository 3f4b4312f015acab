"""Puts with callback that wait: exact numbers, and who waits, of clients by both protocols and inside the IOC."""
import json

import pytest

from harness import clients, env
from harness.exporter import run_exporter
from harness.raw_client import ECA_NORMAL

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]
PENDING = "epics_ioc_put_callbacks_pending"
OLDEST = "epics_ioc_put_callback_oldest_seconds"
BASES = ["7.0.4", "7.0.10"]

RECORDS = """
record(sub, "B:busy") { field(SNAM, "busy") }
record(sub, "B:other") { field(SNAM, "busy") }
record(sub, "B:third") { field(SNAM, "busy") }
record(ao, "B:quick") { field(FLNK, "B:quick:n") }
record(calc, "B:quick:n") { field(CALC, "VAL+1") }
"""


def pending(page, ioc):
    return page.count(PENDING, ioc=ioc.name)


def wait_pending(exporter, ioc, count):
    return exporter.wait_scrape(lambda page: pending(page, ioc) == count, f"{count} put-callbacks wait")


def listed(exporter, ioc):
    """(PV, client, user, protocol) of those that wait, the oldest first."""
    done = run_exporter("puts", "--pending", "--json", f"--url=http://127.0.0.1:{exporter.port}")
    found = {one["ioc"]: one for one in json.loads(done.stdout)}[ioc.name]
    assert done.returncode == (0 if any(one["pending"] for one in json.loads(done.stdout)) else 3)
    assert found["pending"] >= len(found["oldest"])
    times = [put["time"] for put in found["oldest"]]
    assert times == sorted(times)
    return [(put["pv"], put["client"], put["user"], put["protocol"]) for put in found["oldest"]]


@pytest.fixture(params=BASES)
def ioc(request, start_ioc):
    return start_ioc("busy" + request.param.replace(".", ""), RECORDS, base=request.param,
                     lib_dir=env.base_dir(request.param) / "lib")


def inside(ioc, thread, pv, count, kind):
    ioc.shell(f"insideClient {thread} {pv} {count} {kind}")
    ioc.process.wait_for(f"^@put {thread}$")


def test_put_callbacks_of_clients_wait_until_their_record_is_done(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    page = exporter.scrape()
    assert (pending(page, ioc), page.value(OLDEST, ioc=ioc.name)) == (0, 0)
    assert listed(exporter, ioc) == []
    first, second = raw_client(ioc, "scan"), raw_client(ioc, "other")
    quick = first.create("B:quick")
    assert [first.write_notify(quick, value) for value in range(23)] == [ECA_NORMAL] * 23
    waits = first.start_write_notify(first.create("B:busy.A"), 1)
    page = wait_pending(exporter, ioc, 1)
    assert page.value(OLDEST, ioc=ioc.name) > 0
    # Of another client to the same record: the database begins it when the first is done.
    behind = second.start_write_notify(second.create("B:busy.B"), 2)
    wait_pending(exporter, ioc, 2)
    assert listed(exporter, ioc) == [("B:busy.A", clients.LOOPBACK, "scan", "ca"),
                                     ("B:busy.B", clients.LOOPBACK, "other", "ca")]
    text = run_exporter("puts", "--pending", f"--url=http://127.0.0.1:{exporter.port}").stdout
    assert text.splitlines()[0].split() == ["SINCE", "FOR", "IOC", "PV", "CLIENT", "USER"]
    assert [line.split()[-4:] for line in text.splitlines()[1:]] == [
        [ioc.name, "B:busy.A", clients.LOOPBACK, "scan@console1"],
        [ioc.name, "B:busy.B", clients.LOOPBACK, "other@console1"]]
    landing = exporter.request("/")[2].decode()
    assert "Puts with callback that wait" in landing and "B:busy.A" in landing
    ioc.shell("completeRecord B:busy")
    assert first.wait_written(waits) == ECA_NORMAL
    wait_pending(exporter, ioc, 1)
    ioc.shell("completeRecord B:busy")
    assert second.wait_written(behind) == ECA_NORMAL
    page = wait_pending(exporter, ioc, 0)
    assert page.value(OLDEST, ioc=ioc.name) == 0
    assert listed(exporter, ioc) == []


def test_clients_that_go_leave_nothing_behind(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    gone, clears, stays = (raw_client(ioc, user) for user in ("gone", "clears", "stays"))
    gone.start_write_notify(gone.create("B:busy.A"), 1)
    channel = clears.create("B:other.A")
    clears.start_write_notify(channel, 1)
    stays.start_write_notify(stays.create("B:third.A"), 1)
    wait_pending(exporter, ioc, 3)
    gone.kill()
    wait_pending(exporter, ioc, 2)
    clears.clear(channel)
    wait_pending(exporter, ioc, 1)
    assert [user for _, _, user, _ in listed(exporter, ioc)] == ["stays"]
    ioc.kill()
    exporter.wait_scrape(lambda page: not page.series(PENDING, ioc=ioc.name), "the IOC has ended")


def test_put_callbacks_inside_the_ioc_have_their_thread(ioc, start_exporter):
    exporter = start_exporter(sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    inside(ioc, "seqQuick", "B:quick", 23, 1)
    assert ioc.get("B:quick:n.VAL") == 23
    inside(ioc, "seqWaits", "B:busy.A", 1, 2)
    inside(ioc, "seqCancels", "B:other.A", 1, 2)
    wait_pending(exporter, ioc, 2)
    assert listed(exporter, ioc) == [("B:busy.A", "seqWaits", "", "inside"), ("B:other.A", "seqCancels", "", "inside")]
    ioc.shell("completeRecord B:busy")
    wait_pending(exporter, ioc, 1)
    ioc.shell("endInsideClients")  # they clear their channels
    wait_pending(exporter, ioc, 0)


@pytest.mark.parametrize("qsrv", [1, 2])
def test_put_callbacks_by_pv_access(start_ioc, start_exporter, connect_p4p, qsrv):
    ioc = start_ioc(f"busypva{qsrv}", 'record(calcout, "B:never") { field(CALC, "A") field(ODLY, "10000") }\n'
                    'record(calcout, "B:slow") { field(CALC, "A") field(ODLY, "0.02") }', qsrv=qsrv)
    exporter = start_exporter(sees=[ioc])
    exporter.wait_put_source(ioc, "server", "pva")
    exporter.wait_put_source(ioc, "server")
    assert connect_p4p(ioc, {"B:slow.A=notify": 1}, 1).send() == 1
    wait_pending(exporter, ioc, 0)
    waits = connect_p4p(ioc, {"B:never.A=notify": 1}, 1)
    waits.send_line("go")
    wait_pending(exporter, ioc, 1)
    (pv, address, user, protocol), = listed(exporter, ioc)
    assert (pv, address, user, protocol) == ("B:never.A", clients.LOOPBACK, clients.LIBCA_USER, "pva")
    waits.kill()
    wait_pending(exporter, ioc, 0)


def test_absent_without_the_servers_word(ioc, start_exporter):
    exporter = start_exporter("--no-server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "packets")
    assert not exporter.scrape().series(PENDING)
