"""Connected clients, from the servers' memory: exact numbers of clients that know what they have open."""
import pytest

from harness import clients
from harness.raw_client import ECA_NORMAL
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]
RULES = 'ASG(SWITCHED) { INPA("N:switch") RULE(1, READ) RULE(1, WRITE) { CALC("A=1") } }\nASG(DEFAULT) { RULE(1, WRITE) }\n'
PVS = [f"N:{i}" for i in range(1, 24)]
RECORDS = "".join(f'record(ao, "{name}") {{ }}\n' for name in PVS)


def told(scrape, ioc):
    """circuits, monitors, flow-controlled circuits; channels by access; [circuits, channels, monitors] by user@host."""
    numbers = [scrape.count(name, ioc=ioc.name)
               for name in ("epics_circuits", "epics_monitors", "epics_ca_flow_controlled_circuits")]
    channels = {labels["access"]: value for labels, value in scrape.series("epics_channels", ioc=ioc.name)
                if value != 0}
    by_client = {}
    for name in ("circuits", "channels", "monitors"):
        for labels, value in scrape.series(f"epics_client_{name}", ioc=ioc.name):
            assert labels["client"] == clients.LOOPBACK
            by_client.setdefault(f'{labels["user"]}@{labels["client_host"]}', []).append(value)
    return numbers, channels, by_client


@pytest.mark.parametrize("witness", [True, False], ids=["memory", "packets"])
def test_each_base(start_ioc, start_exporter, raw_client, base, witness):
    """Of clients older than the exporter, and of what they do then. Packets alone know it of those that are younger."""
    ioc = start_ioc(f"inventory-{base}-{witness}", RECORDS, base=base)
    if not witness:
        exporter = start_exporter("--no-server-probe", sees=[ioc])
        exporter.wait_put_source(ioc, "packets")
    old = raw_client(ioc, "operator", "console")
    channels = [old.create(name) for name in PVS[:17]]
    subscriptions = [old.monitor(channel) for channel in channels[:11]]
    silent = raw_client(ioc, "physicist", "laptop")
    channel = silent.create(PVS[0])
    if witness:
        old.events(on=False)
        old.get(channels[0])
        exporter = start_exporter("--server-probe", sees=[ioc])
    off = int(witness)
    exporter.wait_scrape(lambda s: told(s, ioc) == (
        [2, 11, off], {"read_write": 18}, {"operator@console": [1, 17, 11], "physicist@laptop": [1, 1, 0]}),
        "all that is open is told")
    old.events(on=True)
    old.cancel(channels[0], subscriptions[0])
    old.clear(channels[1])
    young = raw_client(ioc, "operator", "console")
    mine = [young.create(name) for name in PVS[:5]]
    young.monitor(mine[0])
    old.get(channels[0])
    exporter.wait_scrape(lambda s: told(s, ioc) == (
        [3, 10, 0], {"read_write": 22}, {"operator@console": [2, 21, 10], "physicist@laptop": [1, 1, 0]}), "the young one is told")
    young.events(on=False)
    young.get(mine[0])
    silent.get(channel)
    exporter.wait_scrape(lambda s: told(s, ioc)[0] == [3, 10, 1], "one circuit gets no events")
    silent.kill()
    young.kill()
    exporter.wait_scrape(lambda s: told(s, ioc) == (
        [1, 9, 0], {"read_write": 16}, {"operator@console": [1, 16, 9]}), "two circuits have ended")
    old.kill()
    exporter.wait_scrape(lambda s: told(s, ioc) == ([0, 0, 0], {}, {}), "the last circuit has ended")


def test_rights_that_change(start_ioc, start_exporter, raw_client):
    records = 'record(bo, "N:switch") { }\n' + RECORDS.replace("{ }", '{ field(ASG, "SWITCHED") }')
    ioc = start_ioc("inventory-rights", records, access_security=RULES)
    client = raw_client(ioc)
    channels = [client.create(name) for name in PVS]
    switch = client.create("N:switch")
    exporter = start_exporter("--server-probe", sees=[ioc])
    exporter.wait_scrape(lambda s: told(s, ioc)[1] == {"read": 23, "read_write": 1}, "the first rights")
    for value, rights in ((1, {"read_write": 24}), (0, {"read": 23, "read_write": 1})):
        client.write_notify(switch, value)
        client.wait_rights(channels, 1 + 2 * value)
        client.echo()
        exporter.wait_scrape(lambda s, rights=rights: told(s, ioc)[1] == rights, f"rights are {rights}")


def test_names_that_hold_any_characters(start_ioc, start_exporter, raw_client):
    """A client that chooses such ones takes nobody's number away."""
    ioc = start_ioc("inventory-names", RECORDS)
    plain, odd = raw_client(ioc), raw_client(ioc, "o\td\x01d", "li\nne")
    plain.create("N:1")
    for name in ('N:1.VAL{\n"dbnd":{"abs":1.5}}', "N:2.VAL{/*\x01*/}", "N:3.VAL{/*\x7f*/}"):
        odd.create(name)
    exporter = start_exporter("--server-probe", sees=[ioc])
    expected = {"operator@console1": [1, 1, 0], "o\td\x01d@li\nne": [1, 3, 0]}
    exporter.wait_scrape(lambda s: told(s, ioc) == ([2, 0, 0], {"read_write": 4}, expected), "all are told")


def test_requests_that_the_server_reads_late(start_ioc, start_exporter, raw_client):
    """While it waits for a put-callback of a client it reads nothing of what that one sends."""
    ioc = start_ioc("inventory-late", RECORDS + 'record(calcout, "N:slow") { field(CALC, "A") field(ODLY, "20") }')
    client = raw_client(ioc)
    slow = client.create("N:slow.A")
    exporter = start_exporter("--server-probe", sees=[ioc])
    client.start_write_notify(slow, 1)
    waits = client.start_write_notify(slow, 2)
    exporter.wait_scrape(lambda s: s.total(PUTS, ioc=ioc.name) == 2, "the server waits")
    channel = client.start_create("N:1")
    for _ in range(5):
        assert told(exporter.scrape(), ioc)[1] == {"read_write": 1}
    client.wait_created(channel)
    exporter.wait_scrape(lambda s: told(s, ioc)[1] == {"read_write": 2}, "the second channel")
    assert client.wait_written(waits) == ECA_NORMAL
