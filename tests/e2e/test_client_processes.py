"""Which process of this host is a client: of an IOC its name, of others their name and pid; never a guess."""
from collections import Counter

import pytest

from harness import clients, databases, env
from harness.exporter import run_exporter
from harness.network import OtherNetwork, enter_own_network
from harness.ports import free_port
from harness.put_log import PutLog
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]

FAR = """
record(ao, "C:linked") { field(FLNK, "C:linked:n") }
record(calc, "C:linked:n") { field(CALC, "VAL+1") }
record(ao, "C:set") { field(FLNK, "C:set:n") }
record(calc, "C:set:n") { field(CALC, "VAL+1") }
record(calcout, "C:never") { field(CALC, "A") field(ODLY, "10000") }
"""
NEAR = 'record(ao, "C:source") { field(OUT, "C:linked CA") }\n'


def name_of(process) -> str:
    """Of a program that is no IOC."""
    with open(f"/proc/{process.pid}/comm", encoding="ascii") as comm:
        return f"{comm.read().strip()}[{process.pid}]"


def wait_shown(exporter, *names):
    """Until the page at "/" has them: these connections were looked at."""
    wait_until(lambda: all(name in exporter.request("/")[2].decode() for name in names), f"{names} are shown", 60)


def by_link(near, far, count):
    for value in range(1, count + 1):
        near.put("C:source", value)
        wait_until(lambda value=value: far.get("C:linked:n.VAL") == value, "the link's write")


def test_each_put_has_its_process(start_ioc, start_exporter, connect, log_dir):
    """All of them have the same address, user and host."""
    port = free_port()
    far = start_ioc("client-far", FAR, port=port)
    near = start_ioc("client-near", NEAR, links_to=[port], base="7.0.4", lib_dir=env.base_dir("7.0.4") / "lib")
    log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*log.options, sees=[far, near])
    exporter.wait_put_source(far, "server")
    one, two = connect(clients.libca, [far], ["C:set"], 23), connect(clients.libca, [far], ["C:set"], 11)
    names = [name_of(one), name_of(two)]
    row = ", ".join(sorted([*names, near.name]))
    wait_shown(exporter, row)

    by_link(near, far, 7)
    one.send()
    two.send()
    told = log.wait(7 + 23 + 11)
    assert Counter((put["pv"], put["client_process"]) for put in told) == Counter({
        ("C:linked", near.name): 7, ("C:set", names[0]): 23, ("C:set", names[1]): 11})
    assert len({put["client"] for put in told}) == 3
    scrape = exporter.scrape()
    assert scrape.count("epics_puts_total", pv="C:set") == 34
    assert len(scrape.series("epics_puts_total", pv="C:set")) == 1, "by address and user, not by process"

    one.close()
    wait_until(lambda: names[0] not in exporter.request("/")[2].decode(), "it is gone")
    wait_shown(exporter, ", ".join(sorted([names[1], near.name])))
    assert Counter(put["client_process"] for put in log.puts(pv="C:set")) == Counter({names[0]: 23, names[1]: 11})
    table = run_exporter("puts", f"--url=http://127.0.0.1:{exporter.port}", "--since=1h", "--pv=C:set", "--json").stdout
    assert table.count(f'"client_process":"{names[0]}"') == 23


def test_a_program_that_comes_and_goes(start_ioc, start_exporter, connect, log_dir):
    """The page has it as long as it is connected."""
    far = start_ioc("client-one", FAR)
    log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*log.options, sees=[far])
    exporter.wait_put_source(far, "server")
    waiting = connect(clients.libca, [far], ["C:never"], 1, op="write_notify")
    name = name_of(waiting)
    waiting.start_sending()
    wait_shown(exporter, name)
    put, = log.wait(1)
    assert put.get("client_process") in (None, name), "where it came before the look, it has none"
    waiting.kill()
    wait_until(lambda: name not in exporter.request("/")[2].decode(), "it is gone")


def test_pv_access(start_ioc, start_exporter, connect, log_dir):
    """The probes on its servers do not tell a client's port: several processes may have its address."""
    far = start_ioc("client-pva", FAR, qsrv=2)
    log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*log.options, sees=[far])
    exporter.wait_put_source(far, "server")
    wait_until(lambda: exporter.scrape().value("epics_ioc_put_source", ioc=far.name, protocol="pva", source="server") == 1,
               "puts by PV Access are counted", 60)
    sender = connect(lambda log_dir, _ports, _pvs, n: clients.p4p(log_dir, [far], {"C:set": 4}, n), [far], [], 5)
    later = connect(clients.libca, [far], ["C:set"], 1)
    wait_shown(exporter, name_of(later))  # the look that found it found the other one, too
    sender.send()
    assert [put.get("client_process") for put in log.wait(5)] == [None] * 5


@pytest.fixture
def other_network(started):
    enter_own_network()
    return started.add(OtherNetwork())


def test_clients_in_another_network_namespace(other_network, start_ioc, start_exporter, connect, log_dir):
    """As in a container: named where an IOC runs in it."""
    far = start_ioc("client-here", FAR, address=other_network.here)
    log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*log.options, "--ioc.include=client-here|client-there", sees=[far])
    exporter.wait_put_source(far, "server")
    def send(count):
        sender = connect(clients.libca, [far], ["C:set"], count, address=other_network.here, prefix=other_network.prefix)
        here = connect(clients.libca, [far], ["C:set"], 1, address=other_network.here)
        wait_shown(exporter, name_of(here))
        return sender, name_of(sender)

    stranger, _ = send(5)
    stranger.send()
    assert [put.get("client_process") for put in log.wait(5)] == [None] * 5
    there = start_ioc("client-there", databases.put_targets("D:", 1), prefix=other_network.prefix,
                      address=other_network.there)
    exporter.wait_up(there)
    sender, name = send(7)
    sender.send()
    assert [put.get("client_process") for put in log.wait(12)[5:]] == [name] * 7
