"""A client takes all that it can get of a table of the exporter's: the puts of others keep counts and names."""
import pytest

from harness import databases
from harness.forger import SYN, Forger, inside
from harness.put_counts import Counts
from harness.wire import Wire, create, write, write_notify

ROOM = 1024  # the least that can be asked for
ROUNDS = 32  # of puts: 20,000 of each client
EXPORTER_OPTIONS = ["--no-collector.records", "--no-server-probe", f"--ca.max-channels={ROOM}",
                    f"--ca.max-circuits={ROOM}"]
PVS = ["S:set1", "S:set2"]
DROPPED = "ioc_exporter_dropped_total"
DURATIONS = "epics_put_duration_seconds_count"


@pytest.fixture(scope="module")
def ioc(shared, network):
    return shared.ioc("starving", databases.put_targets("S:", 2), address="")  # on all addresses


@pytest.fixture(scope="module")
def exporter(shared, ioc):
    return shared.exporter(sees=[ioc])


@pytest.fixture
def local(started, ioc):
    """local(user) -> a circuit on loopback."""
    return lambda user: started.add(Wire(ioc.port)).introduce(user)


@pytest.fixture
def far(started, ioc, network):
    """far(user) -> a circuit from the other namespace."""
    def open_circuit(user: str) -> Wire:
        with inside(network.pid):
            wire = started.add(Wire(ioc.port, network.here))
        return wire.introduce(user)

    return open_circuit


def take_channels(wire: Wire, count: int) -> None:
    for _ in range(0, count, 100):
        wire.open(*["S:set1"] * 100)


def ask_in_vain(wire: Wire, count: int) -> None:
    """Requests that come faster than they are answered."""
    sid, = wire.open("S:set1")
    wire.send(*[create(5000 + i, "S:nobody") for i in range(count)])
    wire.settle(sid)


def many_channels(local, far, forger):
    take_channels(local("greedy"), 2 * ROOM)


def many_channels_from_afar(local, far, forger):
    for _ in range(8):
        take_channels(far("greedy"), 300)


def many_requests(local, far, forger):
    ask_in_vain(local("greedy"), 4 * ROOM)


def half_open_connections(local, far, forger):
    for port in range(10000, 10000 + 2 * ROOM):
        forger.send(port, 1000, 0, flags=SYN)


ATTACKS = [many_channels, many_channels_from_afar, many_requests, half_open_connections]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_others_are_counted_as_ever(started, ioc, exporter, network, local, far, attack):
    exporter.wait_scrape(lambda page: page.value("ioc_exporter_map_entries", map="ca_channels") < ROOM / 8,
                         "what was held before is free again")
    with inside(network.pid):
        forger = started.add(Forger(network.there, network.here, ioc.port, "to_test"))
    others = {"near": local, "far": far}
    if attack is many_channels_from_afar:
        del others["far"]  # the same address
    before = {where: start(f"{where}-{attack.__name__}") for where, start in others.items()}
    channels = {where: wire.open(*PVS) for where, wire in before.items()}
    counts = Counts(ioc, exporter, PVS)
    answered = exporter.scrape().total(DURATIONS, ioc=ioc.name)
    attack(local, far, forger)
    expected = {}
    for where, start in others.items():
        user = f"{where}-{attack.__name__}"
        for wire, sids in ((before[where], channels[where]), (late := start(user), late.open(*PVS))):
            for _ in range(ROUNDS):
                wire.send(write(sids[0]) * 211, write(sids[1]) * 101)
            wire.send(*[write_notify(sids[1], i) for i in range(23)])
            wire.settle(sids[0])
        expected |= {("S:set1", user): 2 * ROUNDS * 211, ("S:set2", user): 2 * (ROUNDS * 101 + 23)}
    counts.check(expected)
    page = exporter.scrape()
    assert page.total(DURATIONS, ioc=ioc.name) == answered + 2 * len(others) * 23
    for reason in ("lost_put", "circuits_full", "put_series_full", "outcomes_full"):
        assert page.count(DROPPED, probe="ca_tap", reason=reason) == 0, reason
    for name in ("ca_channels", "ca_circuits"):
        assert page.value("ioc_exporter_map_entries", map=name) < ROOM
