"""Circuits and channels that were open before the exporter: it reads their names from the IOC's memory."""
import pytest

from harness import clients, databases
from harness.named_client import NamedClient, putting
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]

TARGETS = 5
NAMES = [f"W:set{i}" for i in range(1, TARGETS + 1)]


@pytest.fixture(scope="module")
def one_ioc(shared):
    return shared.ioc("before", databases.put_targets("W:", TARGETS))


@pytest.fixture
def ioc(one_ioc):
    """The file's IOC, and in `before` what its records have counted by now."""
    one_ioc.before = one_ioc.get_all([f"{name}:count.VAL" for name in NAMES])
    return one_ioc


def puts(scrape, ioc):
    """(pv, user, host, op) to count, of every series of this IOC."""
    for labels, _ in scrape.series(PUTS, ioc=ioc.name):
        assert labels["client"] == clients.LOOPBACK
    return {tuple(labels[k] for k in ("pv", "user", "client_host", "op")): value
            for labels, value in scrape.series(PUTS, ioc=ioc.name)}


def by(user, host, op, pvs, count):
    return {(pv, user, host, op): count for pv in pvs}


def test_each_base(start_ioc, start_exporter, connect, base):
    """Names, users and hosts of idle clients; then every one of their puts."""
    ioc = start_ioc(f"before-{base}", databases.put_targets("W:", TARGETS), base=base)
    texts = [f"W:text{i}" for i in range(1, TARGETS + 1)]
    early = [connect(clients.libca, [ioc], NAMES, 401, batch=50),
             connect(clients.libca, [ioc], texts, 23, kind="string", op="write_notify"),
             connect(clients.caproto, [ioc], NAMES[:2], 101, user="operator")]
    exporter = start_exporter(sees=[ioc])
    assert puts(exporter.scrape(), ioc) == {}
    for client in early:
        client.send()
    expected = {**by(clients.LIBCA_USER, clients.HOST, "write", NAMES, 401),
                **by(clients.LIBCA_USER, clients.HOST, "write_notify", texts, 23),
                **by("operator", clients.HOST, "write", NAMES[:2], 101)}
    assert puts(exporter.scrape(), ioc) == expected
    for client in early:
        client.close()
    # The end of the circuits neither loses nor repeats a count.
    assert puts(exporter.scrape(), ioc) == expected
    assert ioc.get("W:set1:count.VAL") == 502


def test_channels_that_are_closed_and_opened_again(ioc, start_exporter, started):
    """A name that was read from memory ends with its channel."""
    early = started.add(NamedClient(ioc.port, "operator", "console")).open(*NAMES)
    exporter = start_exporter(sees=[ioc])
    for name in NAMES:
        early.put(name, 7)
    early.close(*NAMES[:3])
    early.open(*reversed(NAMES[:3]))
    for name in NAMES:
        early.put(name, 11)
    early.wait_done()
    assert puts(exporter.scrape(), ioc) == by("operator", "console", "write", NAMES, 18)
    assert ioc.get("W:set1:count.VAL") - ioc.before["W:set1:count.VAL"] == 18


def test_clients_that_put_while_the_exporter_starts(ioc, start_exporter, started):
    """No put has no name, not even those before the memory was read; from then on each is counted."""
    early = started.add(NamedClient(ioc.port, "operator", "console")).open(*NAMES)
    everybody = {(name, "operator", "console", "write") for name in NAMES}
    with putting(early, NAMES):
        exporter = start_exporter(sees=[ioc])
        exporter.wait_scrape(lambda s: set(puts(s, ioc)) == everybody, "puts to each name are counted")
    before = puts(exporter.scrape(), ioc)
    assert set(before) == everybody
    for (name, *_), count in before.items():
        assert 0 < count <= ioc.get(f"{name}:count.VAL") - ioc.before[f"{name}:count.VAL"]
    for name in NAMES:
        early.put(name, 101)
    early.wait_done()
    assert puts(exporter.scrape(), ioc) == {key: count + 101 for key, count in before.items()}


def test_many_channels(start_ioc, start_exporter, connect):
    """1,000 channels on one circuit."""
    names = [f"M:set{i}" for i in range(1, 335)]
    ioc = start_ioc("many", databases.put_targets("M:", 334))
    all_names = names + [name.replace("set", "text") for name in names] + [
        f"{name}.VAL" for name in names[:332]]
    early = connect(clients.libca, [ioc], all_names, 7, kind="string")
    exporter = start_exporter(sees=[ioc])
    early.send()
    assert puts(exporter.scrape(), ioc) == by(clients.LIBCA_USER, clients.HOST, "write", all_names, 7)
