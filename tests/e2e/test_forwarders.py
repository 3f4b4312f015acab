"""TCP forwarders (docker-proxy, ssh -L) between clients and an IOC are no servers: a put counts once, at the IOC."""
import os
import pathlib
import subprocess
import sys

import pytest

from harness import databases
from harness.forger import inside
from harness.network import OtherNetwork, enter_own_network
from harness.put_counts import Counts
from harness.redirect import redirect
from harness.scrape import PUTS
from harness.wire import Wire, write, write_notify

EXPORTER_OPTIONS = ["--no-collector.records"]  # by the packets alone, but for `probing`
PVS = ["F:set1", "F:set2"]
TICKS = "ioc_exporter_loop_ticks_total"
SERVERS = "forwarded|passes_on"


class Forwarder:
    """A process of its own that passes on what comes to its port."""

    def __init__(self, target: str, port: int, prefix=()):
        self.process = self
        self.name = "passes_on"
        script = pathlib.Path(__file__).parent / "harness" / "forward.py"
        self._child = subprocess.Popen([*prefix, sys.executable, script, target, str(port)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env={**os.environ, "IOCNAME": self.name})
        self.port = int(self._child.stdout.readline())

    def describe(self) -> str:
        return f"forwarder: pid {self._child.pid}, port {self.port}"

    def kill(self) -> None:
        self._child.kill()
        self._child.wait(60)
        self._child.stdin.close()
        self._child.stdout.close()


@pytest.fixture(scope="module")
def network(shared):
    enter_own_network()
    return shared.started.add(OtherNetwork())


@pytest.fixture(scope="module")
def ioc(shared, network):
    return shared.ioc("forwarded", databases.put_targets("F:", 2), address="")  # on all addresses


@pytest.fixture(scope="module")
def inner(shared, network):
    return shared.ioc("forwarded_inside", databases.put_targets("F:", 2), prefix=network.prefix, address="")


@pytest.fixture(scope="module")
def near(shared, ioc):
    return shared.started.add(Forwarder("127.0.0.1", ioc.port))


@pytest.fixture(scope="module")
def exporter(shared, ioc, inner, near):
    return shared.exporter(f"--ioc.include={SERVERS}|forwarded_inside", sees=[ioc, inner])


@pytest.fixture(scope="module")
def probing(shared, ioc, inner, near):
    """In another network namespace only the server's probes count."""
    exporter = shared.exporter("--server-probe", f"--ioc.include={SERVERS}|forwarded_inside", sees=[ioc, inner])
    exporter.wait_put_source(inner, "server")
    return exporter


def put(wire: Wire, user: str) -> dict[tuple[str, str], int]:
    first, second = wire.introduce(user).open(*PVS)
    for _ in range(3):
        wire.send(write(first) * 211, write(second) * 101)
    wire.send(*[write_notify(second, i) for i in range(23)]).settle(first)
    return {("F:set1", user): 3 * 211, ("F:set2", user): 3 * 101 + 23}


def look_again(exporter, port: int):
    """The page after four more looks. The exporter looks when something was started: each connection starts a thread."""
    for _ in range(4):
        before = exporter.scrape().value(TICKS)
        wire = Wire(port).introduce("looked")
        wire.open("F:set1")
        page = exporter.wait_scrape(lambda s: s.value(TICKS) > before + 1, "it looks again")
        wire.kill()
    return page


def check(counts: Counts, exporter, port: int, expected) -> None:
    counts.check(expected)
    page = look_again(exporter, port)  # servers are known by then
    assert {labels["ioc"] for labels, _ in page.series("epics_ioc_info")} == {"forwarded", "forwarded_inside"}
    assert not page.series(PUTS, ioc="passes_on")
    counts.check(expected)


def test_on_the_iocs_host(started, ioc, near, exporter):
    """One, and one behind another."""
    counts = Counts(ioc, exporter, PVS)
    chain = started.add(Forwarder("127.0.0.1", near.port))
    wires = [started.add(Wire(port)) for port in (near.port, near.port, chain.port)]
    expected = put(wires[0], "near-0") | put(wires[1], "near-1") | put(wires[2], "chained")
    short = started.add(Wire(near.port))  # it is gone before anybody looks
    expected |= put(short, "near-short")
    short.kill()
    check(counts, exporter, ioc.port, expected)


def test_in_another_namespace(started, ioc, network, exporter):
    """Clients of both sides."""
    far = started.add(Forwarder(network.here, ioc.port, network.prefix))
    counts = Counts(ioc, exporter, PVS)
    expected = put(started.add(Wire(far.port, network.there)), "to-far")
    with inside(network.pid):
        expected |= put(started.add(Wire(far.port)), "within-far")
    check(counts, exporter, ioc.port, expected)


def test_to_another_namespace(started, inner, network, probing):
    """As docker-proxy does."""
    docker = started.add(Forwarder(network.there, inner.port))
    counts = Counts(inner, probing, PVS)
    check(counts, probing, docker.port, put(started.add(Wire(docker.port)), "docker"))


def test_a_port_that_is_published_by_dnat(started, ioc, inner, network, probing):
    """As docker does where clients need no docker-proxy."""
    if not redirect(4073, inner.port, network.there):
        pytest.skip("the kernel has no nf_tables with NAT")
    counts = Counts(inner, probing, PVS)
    check(counts, probing, ioc.port, put(started.add(Wire(4073, network.here)), "published"))


def test_connections_that_are_open_before(started, ioc, near, start_exporter):
    wire = started.add(Wire(near.port))
    first, second = wire.introduce("before").open(*PVS)
    late = start_exporter(f"--ioc.include={SERVERS}", sees=[ioc])
    for _ in range(50):
        wire.send(write(first) * 7, write(second) * 3).settle(first)
    page = look_again(late, ioc.port)
    assert {(labels["ioc"], labels["pv"]) for labels, _ in page.series(PUTS)} == {("forwarded", "")}
    assert 0 < page.total(PUTS, ioc="forwarded") <= 500  # without those that prove the boundaries
    assert {labels["ioc"] for labels, _ in page.series("epics_ioc_info")} == {"forwarded"}
    assert not page.series(PUTS, ioc="passes_on")
