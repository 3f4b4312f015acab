"""Searches by UDP, beacons, and servers that are known before their IOC is found."""
import contextlib
import socket
import struct

import pytest

from harness import clients, databases
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--collector.searches"]

SEARCHES = "epics_search_requests_total"
BEACONS = "epics_ca_beacons_total"
CLIENT = "127.77.0.9"  # an address of loopback that no other program uses


def header(command: int, size: int, data_type: int, count: int, p1: int, p2: int) -> bytes:
    return struct.pack(">HHHHII", command, size, data_type, count, p1, p2)


VERSION = header(0, 0, 1, 13, 7, 0)  # servers answer nobody who does not say it first


def search(cid: int, name: str) -> bytes:
    payload = name.encode() + b"\0" * (8 - len(name) % 8)
    return header(6, len(payload), 5, 13, cid, cid) + payload


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("searched", databases.put_targets("Q:", 3))


def test_searches_are_counted_by_client(ioc, start_exporter):
    exporter = start_exporter("--ioc.include=searched", sees=[ioc])
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
        client.bind((CLIENT, 0))
        client.settimeout(60)
        for _ in range(23):
            client.sendto(VERSION + search(1, "NO:SUCH:PV") + search(2, "NOR:THIS"),
                          ("127.0.0.1", ioc.port))
        for cid in range(3, 10):
            client.sendto(VERSION + search(cid, "Q:set1"), ("127.0.0.1", ioc.port))
            answer = client.recv(1024)
            assert struct.pack(">I", cid) in answer
    scrape = exporter.scrape()
    assert scrape.count(SEARCHES, client=CLIENT) == 2 * 23 + 7
    assert scrape.count("ioc_exporter_dropped_total", probe="ca_udp", reason="full") == 0


# libca asks again within fractions of a second, caproto after seconds.
@pytest.mark.parametrize("client, searches", [(clients.pyepics, 5), (clients.caproto, 2)])
def test_names_that_nobody_has_are_searched_on(client, searches, ioc, start_exporter, started, log_dir):
    """The clients' own search, with their own timing."""
    exporter = start_exporter("--ioc.include=searched", sees=[ioc])
    before = exporter.scrape().count(SEARCHES, client=clients.LOOPBACK)
    started.add(client(log_dir, [ioc.port], [f"NOBODY:HAS:{client.__name__}"], 1))
    exporter.wait_scrape(lambda s: s.count(SEARCHES, client=clients.LOOPBACK) >= before + searches,
                         "a client searches in vain", timeout=60)


def test_beacons_are_counted_by_server(start_ioc, start_exporter):
    exporter = start_exporter("--ioc.include=beacons")
    exporter.wait_first_look()
    ioc = start_ioc("beacons", databases.put_targets("Q:", 1))
    server = f"127.0.0.1:{ioc.port}"
    exporter.wait_scrape(lambda s: s.count(BEACONS, server=server) >= 5, "beacons")


def test_the_first_client_is_named_before_its_ioc_is_found(start_ioc, start_exporter, connect):
    """The IOC's first beacon tells its port: a client that is done before the exporter looks for IOCs
    again has all its puts counted, with their names."""
    exporter = start_exporter("--ioc.include=early", "--discovery.interval=15s")
    exporter.wait_first_look()
    ioc = start_ioc("early", databases.put_targets("Q:", 3))
    wait_until(lambda: exporter.scrape().count(BEACONS, server=f"127.0.0.1:{ioc.port}") >= 1, "a beacon")
    pvs = [f"Q:set{i}" for i in (1, 2, 3)]
    client = connect(clients.libca, [ioc], pvs, 211)
    assert client.send() == 211 * 3
    client.close()
    assert exporter.scrape().ioc_of_pid(ioc.pid) is None, "not within the time between two looks: all puts"
    scrape = exporter.wait_scrape(lambda s: s.ioc_of_pid(ioc.pid) is not None, "the IOC is found")
    counted = {labels["pv"]: value for labels, value in scrape.series(PUTS, ioc=ioc.name)}
    assert counted == {pv: 211 for pv in pvs}
