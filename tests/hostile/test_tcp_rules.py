"""Segments that the IOC's kernel takes otherwise than they look: what it delivers is what counts. Others: bpf/ca_tap_refused_test.cpp."""
import pytest

from harness import databases
from harness.forger import Forger, inside
from harness.network import run
from harness.put_counts import Counts
from harness.wire import Wire, write

EXPORTER_OPTIONS = ["--no-collector.records", "--no-server-probe"]  # by the packets alone
PVS = ["T:set1", "T:set2"]
DROPPED = "ioc_exporter_dropped_total"


@pytest.fixture(scope="module")
def ioc(shared, network):
    return shared.ioc("tcp_rules", databases.put_targets("T:", 2), address="")  # on all addresses


@pytest.fixture(scope="module")
def routes(network):
    for those in ("10.213.9.0/24", "10.213.10.7"):
        run("ip", "route", "add", "local", those, "dev", "lo")
        run(*network.prefix, "ip", "route", "add", those, "via", network.here)


@pytest.fixture(scope="module")
def exporter(shared, ioc, routes):
    return shared.exporter(sees=[ioc])


@pytest.fixture
def counts(ioc, exporter):
    return Counts(ioc, exporter, PVS)


@pytest.fixture
def far(started, network, ioc):
    """far(user) -> a circuit from the other namespace, its two SIDs, and a forger there that knows where it is."""
    def open_circuit(user: str):
        with inside(network.pid):
            forger = started.add(Forger(network.there, network.here, ioc.port, "to_test"))
            wire = started.add(Wire(ioc.port, network.here))
        sids = wire.introduce(user).open("T:set1", "T:set2")
        wire.send(write(sids[0])).settle(sids[0])
        return wire, sids, forger

    return open_circuit


def test_urgent_byte(started, ioc, counts, exporter):
    """The server does not read it. Where the stream stands behind it is not known from packets: that is counted."""
    before = exporter.scrape().count(DROPPED, probe="ca_tap", reason="lost")
    one = started.add(Wire(ioc.port)).introduce("urgent")
    sid, other = one.open("T:set1", "T:set2")
    one.send(write(sid) * 3).settle(sid)
    one.send_urgent(b"!")
    for _ in range(17):  # one with the byte, and the 16 in a row that prove where messages begin
        one.settle(sid)
    one.send(write(other) * 23).settle(sid)
    counts.check({("T:set1", "urgent"): 3, ("T:set2", "urgent"): 23})
    assert exporter.scrape().count(DROPPED, probe="ca_tap", reason="lost") > before


def test_addresses_that_are_local_by_route(started, network, ioc, counts):
    """No device has them."""
    for user, address in (("range", "10.213.9.55"), ("alone", "10.213.10.7")):
        with inside(network.pid):
            wire = started.add(Wire(ioc.port, address))
        (sid,) = wire.introduce(f"route-{user}").open("T:set1")
        wire.send(write(sid) * 23).settle(sid)
    counts.check({("T:set1", "route-range"): 23, ("T:set1", "route-alone"): 23})


def test_data_for_no_connection(far, counts):
    wire, (sid, other), forger = far("alone")
    for port in range(20001, 20030):
        forger.send(port, 1000, 2000, write(other) * 23)
        forger.send(port, 1000 + 23 * 24, 2000, write(other) * 23)
    wire.send(write(sid) * 5).settle(sid)
    counts.check({("T:set1", "alone"): 6})


NO_DATA = {"broadcast": {"broadcast": True}, "short": {"words": 4}}


@pytest.mark.parametrize("how", NO_DATA)
def test_segments_that_are_no_data(far, network, counts, how):
    """With the right numbers, but not what the kernel takes."""
    user = f"no-data-{how}"
    wire, (sid, other), forger = far(user)
    at = forger.place(wire.port)
    with inside(network.pid):
        forger.send(wire.port, at.client, at.server, write(other) * 23, **NO_DATA[how])
    wire.send(write(sid) * 23).settle(sid)
    counts.check({("T:set1", user): 24})
