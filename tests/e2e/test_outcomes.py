"""Outcomes of puts: exact numbers of clients that count themselves."""
import time

import pytest

from harness import clients
from harness.raw_client import ECA_NORMAL, Channel
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]
BOTH_PUT_SOURCES = True

FAILURES = "epics_put_failures_total"
LAST_PUT = "epics_last_put_timestamp_seconds"
DURATION = "epics_put_duration_seconds"
READ_ONLY = "ASG(DEFAULT) { RULE(1, READ) }\nASG(OPEN) { RULE(1, WRITE) }\n"
RECORDS = """
record(ao, "O:locked") { field(DISP, "1") field(ASG, "OPEN") }
record(ao, "O:open") { field(ASG, "OPEN") }
record(ao, "O:closed") { }
record(calcout, "O:slow") { field(ASG, "OPEN") field(CALC, "A") field(ODLY, "0.02") }
record(calcout, "O:never") { field(ASG, "OPEN") field(CALC, "A") field(ODLY, "10000") }
"""
ECA_INTERNAL, ECA_PUTFAIL, ECA_NOWTACCESS = 142, 160, 376


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("outcomes", RECORDS, access_security=READ_ONLY)


@pytest.fixture
def exporter(ioc, put_source, start_exporter):
    exporter = start_exporter(sees=[ioc])
    exporter.wait_scrape(lambda page: page.put_source(ioc) == put_source, f"puts are told by {put_source}")
    return exporter


def failures(scrape, ioc):
    return {(labels["pv"], labels["user"], labels["reason"]): value
            for labels, value in scrape.series(FAILURES, ioc=ioc.name)}


def send(client, channel, writes, notifies):
    """Statuses of the answers to the put-callbacks; the server is done with all of it."""
    for value in range(writes):
        client.write(channel, value)
    statuses = [client.write_notify(channel, value) for value in range(notifies)]
    client.get(channel)
    return statuses


def test_puts_without_write_access_are_told_apart(ioc, exporter, raw_client):
    client, other = raw_client(ioc), raw_client(ioc, "guest", "laptop")
    closed = client.create("O:closed")
    assert send(client, closed, 23, 5) == [ECA_NOWTACCESS] * 5
    assert client.errors == [ECA_NOWTACCESS] * 23
    send(other, other.create("O:closed"), 13, 0)
    send(other, other.create("O:locked"), 3, 0)
    assert failures(exporter.scrape(), ioc) == {
        ("O:closed", "operator", "no_write_access"): 28,
        ("O:closed", "guest", "no_write_access"): 13,
        ("O:locked", "guest", "put_failed"): 3}


def test_values_that_are_no_number_and_channels_that_are_not_there(ioc, exporter, raw_client):
    client = raw_client(ioc)
    free = client.create("O:open")
    for _ in range(17):
        client.write_text(free, "much")
    assert [client.wait_written(client.start_write_notify(free, "more")) for _ in range(5)] == [ECA_PUTFAIL] * 5
    assert send(client, free, 11, 7) == [ECA_NORMAL] * 7
    assert client.errors == [ECA_PUTFAIL] * 17
    nowhere = Channel("", 0)
    nowhere.sid = 99999
    for _ in range(3):
        stranger = raw_client(ioc, "stranger")
        with pytest.raises((AssertionError, ConnectionError)):  # the server closes the circuit
            stranger.write(nowhere, 1)
            stranger.echo()
        assert stranger.errors == [ECA_INTERNAL]
    expected = {("O:open", "operator", "put_failed"): 22, ("", "stranger", "internal_error"): 3}
    scrape = exporter.wait_scrape(lambda page: failures(page, ioc) == expected, f"failures are {expected}")
    assert scrape.total(PUTS, ioc=ioc.name, pv="O:open", op="write") == 28
    assert scrape.total(PUTS, ioc=ioc.name, pv="O:open", op="write_notify") == 12
    assert scrape.total(PUTS, ioc=ioc.name, user="stranger", op="write") == 3
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:open") == 12


def test_put_callbacks_whose_client_goes_are_cancelled(ioc, exporter, put_source, raw_client):
    for _ in range(7):
        client = raw_client(ioc)
        never, slow = client.create("O:never.A"), client.create("O:slow.A")
        client.start_write_notify(never, 1)
        assert send(client, slow, 0, 2) == [ECA_NORMAL] * 2
        client.kill()
    # Packets do not show what is cancelled.
    cancelled = {("O:never.A", "operator", "cancelled"): 7} if put_source == "server" else {}
    scrape = exporter.wait_scrape(lambda page: failures(page, ioc) == cancelled, "all are cancelled")
    assert scrape.total(PUTS, ioc=ioc.name, pv="O:never.A", op="write_notify") == 7
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:never.A") == 0
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:slow.A") == 14


def buckets(scrape, ioc, pv):
    return {float(labels["le"]): value
            for labels, value in scrape.series(f"{DURATION}_bucket", ioc=ioc.name, pv=pv)}


def test_each_put_callback_has_a_duration(ioc, exporter, connect, raw_client):
    connect(clients.libca, [ioc], ["O:open"], 211, op="write_notify").send()
    connect(clients.libca, [ioc], ["O:open"], 101).send()
    client = raw_client(ioc)
    slow = client.create("O:slow.A")
    assert send(client, slow, 0, 13) == [ECA_NORMAL] * 13
    scrape = exporter.scrape()
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:open") == 211
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:slow.A") == 13
    # The record answers 20 ms after the request, however busy this machine is.
    assert scrape.value(f"{DURATION}_sum", ioc=ioc.name, pv="O:slow.A") >= 13 * 0.02
    assert buckets(scrape, ioc, "O:slow.A")[2.0 ** -6] == 0
    assert buckets(scrape, ioc, "O:open")[float("inf")] == 211


def test_messages_and_bytes_are_counted(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    client, writer = raw_client(ioc), raw_client(ioc, "writer")
    channel, writers = client.create("O:open"), writer.create("O:open")
    ioc.put("O:open", 0)
    client.monitor(channel)
    for value in range(1, 23):
        writer.write_notify(writers, value)
        client.wait_updates(value + 1)
    for _ in range(7):
        client.get(channel)
    for _ in range(3):
        writer.echo()
    scrape = exporter.scrape()
    counted = {name: scrape.count(f"epics_ca_{name}_total", ioc=ioc.name)
               for name in ("gets", "monitor_updates", "echoes", "received_bytes", "sent_bytes",
                            "server_disconnects")}
    assert counted == {"gets": 7, "monitor_updates": 23, "echoes": 3, "server_disconnects": 0,
                       "received_bytes": client.sent_bytes + writer.sent_bytes,
                       "sent_bytes": client.received_bytes + writer.received_bytes}


def test_last_put_has_its_time(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    bounds = {}
    for user in ("first", "second"):
        client = raw_client(ioc, user)
        channel = client.create("O:open")
        send(client, channel, 5, 2)
        begin = time.time()
        client.write(channel, 23)
        client.get(channel)
        bounds[user] = begin, time.time()
    scrape = exporter.scrape()
    for user, (begin, end) in bounds.items():
        assert begin - 0.002 <= scrape.value(LAST_PUT, ioc=ioc.name, pv="O:open", user=user) <= end + 0.002
    again = exporter.scrape()
    assert again.series(LAST_PUT, ioc=ioc.name) == scrape.series(LAST_PUT, ioc=ioc.name), "it does not wander"
