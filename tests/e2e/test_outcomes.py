"""Outcomes of puts, last writers and connected clients: exact numbers of clients that count themselves."""
import json
import shutil
import subprocess
import time

import pytest

from harness import clients
from harness.exporter import run_exporter
from harness.ports import free_port
from harness.raw_client import ECA_NORMAL, Channel
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]
BOTH_PUT_SOURCES = True

FAILURES = "epics_put_failures_total"
DURATION = "epics_put_duration_seconds"
LAST = "epics_last_put_timestamp_seconds"
PV_INFO = "epics_pv_info"
READ_ONLY = "ASG(DEFAULT) { RULE(1, READ) }\nASG(OPEN) { RULE(1, WRITE) }\n"
RECORDS = """
record(ao, "O:locked") { field(DISP, "1") field(ASG, "OPEN") }
record(ao, "O:open") { field(ASG, "OPEN") }
record(ao, "O:closed") { }
alias("O:open", "O:nick")
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


def test_puts_to_a_disabled_record_fail(ioc, exporter, raw_client):
    client = raw_client(ioc)
    locked, free = client.create("O:locked"), client.create("O:open")
    statuses = send(client, locked, 23, 7)
    assert send(client, free, 11, 5) == [ECA_NORMAL] * 5
    refused = sum(status != ECA_NORMAL for status in statuses)
    assert client.errors == [ECA_PUTFAIL] * 23
    assert set(statuses) == {ECA_PUTFAIL}
    scrape = exporter.scrape()
    assert failures(scrape, ioc) == {("O:locked", "operator", "put_failed"): 23 + refused}
    assert scrape.total(PUTS, ioc=ioc.name, pv="O:locked", op="write") == 23
    assert scrape.total(PUTS, ioc=ioc.name, pv="O:locked", op="write_notify") == 7
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, pv="O:locked") == 7, "failed ones, too"
    client.kill()
    assert failures(exporter.scrape(), ioc) == {("O:locked", "operator", "put_failed"): 30}


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


def gauges(scrape, ioc):
    found = {name: scrape.count(f"epics_{name}", ioc=ioc.name) for name in ("circuits", "monitors")}
    found["flow_controlled_circuits"] = scrape.count("epics_ca_flow_controlled_circuits", ioc=ioc.name)
    for access in ("none", "read", "write", "read_write", "unknown"):
        found[access] = scrape.count("epics_channels", ioc=ioc.name, access=access)
    return found


def of_clients(scrape, ioc):
    """(user, host) -> circuits, channels, monitors."""
    found = {}
    for name in ("circuits", "channels", "monitors"):
        for labels, value in scrape.series(f"epics_client_{name}", ioc=ioc.name):
            assert labels["client"] == clients.LOOPBACK
            found.setdefault((labels["user"], labels["client_host"]), []).append(value)
    return found


def state(circuits=0, monitors=0, flow_controlled_circuits=0, **channels):
    return dict(circuits=circuits, monitors=monitors,
                flow_controlled_circuits=flow_controlled_circuits,
                **{a: channels.get(a, 0) for a in ("none", "read", "write", "read_write", "unknown")})


def wait_gauges(exporter, ioc, wanted):
    """A scrape waits for half a second until the server's memory is read."""
    return exporter.wait_scrape(lambda s: gauges(s, ioc) == wanted, f"{wanted}")


def test_circuits_channels_and_monitors_of_clients(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    wait_gauges(exporter, ioc, state())
    first, second = raw_client(ioc), raw_client(ioc)
    guest = raw_client(ioc, "guest", "laptop")
    free, closed = first.create("O:open"), first.create("O:closed")
    subscriptions = [first.monitor(free), first.monitor(closed)]
    second.monitor(second.create("O:slow"))
    guests = guest.create("O:closed")
    scrape = wait_gauges(exporter, ioc, state(circuits=3, monitors=3, read=2, read_write=2))
    assert of_clients(scrape, ioc) == {("operator", "console1"): [2, 3, 3],
                                       ("guest", "laptop"): [1, 1, 0]}
    first.events(on=False)
    first.get(free)
    exporter.wait_scrape(lambda s: gauges(s, ioc)["flow_controlled_circuits"] == 1, "flow control")
    first.events(on=True)
    first.cancel(free, subscriptions[0])
    first.clear(closed)
    first.get(free)
    wait_gauges(exporter, ioc, state(circuits=3, monitors=1, read=1, read_write=2))
    guest.get(guests)
    guest.kill()
    second.kill()
    scrape = wait_gauges(exporter, ioc, state(circuits=1, read_write=1))
    assert of_clients(scrape, ioc) == {("operator", "console1"): [1, 1, 0]}


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
        assert begin - 0.002 <= scrape.value(LAST, ioc=ioc.name, pv="O:open", user=user) <= end + 0.002
    again = exporter.scrape()
    assert again.series(LAST, ioc=ioc.name) == scrape.series(LAST, ioc=ioc.name), "it does not wander"


def test_names_of_one_record(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    client = raw_client(ioc)
    asked = ["O:open", "O:open.VAL", "O:nick.VAL", "O:open.LOPR", 'O:nick.{"dbnd":{"abs":1.5}}']
    for name in asked:
        send(client, client.create(name), 1, 0)
    found = {labels["pv"]: (labels["record"], labels["field"])
             for labels, value in exporter.scrape().series(PV_INFO, ioc=ioc.name)}
    assert found == {name: ("O:open", "VAL") for name in asked if "nick" in name}  # the others say it themselves


def who_wrote(exporter, *arguments):
    return run_exporter("who-wrote", f"--url=http://127.0.0.1:{exporter.port}", *arguments)


def test_the_last_writer(ioc, start_exporter, raw_client):
    exporter = start_exporter(sees=[ioc])
    for user, name, count in (("feedback", "O:open", 23), ("operator", "O:nick.LOPR", 2),
                              ("expert", "O:open.VAL", 7), ("bystander", "O:slow", 3)):
        client = raw_client(ioc, user)
        send(client, client.create(name), count, 0)
    client = raw_client(ioc, "operator")
    send(client, client.create("O:open"), 0, 5)

    for asked in ("O:open", "O:nick", "O:open.DESC"):
        done = who_wrote(exporter, asked)
        assert done.returncode == 0, done.stderr
        *lines, before = done.stdout.splitlines()
        assert before.startswith("Puts before ") and before.endswith(" are not known")
        head, *rows = [line.split() for line in lines]
        assert head == ["TIME", "AGO", "IOC", "PV", "CLIENT", "USER", "CLIENT_HOST", "OP", "PUTS"]
        assert [row[-7:] for row in rows] == [
            [ioc.name, "O:open", clients.LOOPBACK, "operator", "console1", "write_notify", "5"],
            [ioc.name, "O:open.VAL", clients.LOOPBACK, "expert", "console1", "write", "7"],
            [ioc.name, "O:nick.LOPR", clients.LOOPBACK, "operator", "console1", "write", "2"],
            [ioc.name, "O:open", clients.LOOPBACK, "feedback", "console1", "write", "23"]]
    answer = json.loads(who_wrote(exporter, "--json", "O:nick").stdout)
    assert answer["records"] == [{"ioc": ioc.name, "record": "O:open", "field": "VAL"}]
    assert (answer["unnamed_puts"], answer["problem"]) == (0, "")
    assert answer["puts"][0]["user"] == "operator"
    assert answer["counting_since"] <= answer["puts"][-1]["time"]
    page = exporter.request("/")[2].decode()
    assert "Latest puts" in page and "bystander" in page


def test_nobody_wrote_or_nobody_answers(ioc, start_exporter, tmp_path):
    exporter = start_exporter(sees=[ioc])
    done = who_wrote(exporter, "O:open")
    assert (done.returncode, done.stderr) == (3, "")
    said, before = done.stdout.splitlines()
    assert said.startswith("No put to O:open was seen since counting began, ")
    assert said.endswith(f"it is a record of ioc {ioc.name}, whose own writes are not all counted.")
    assert before.startswith("Puts before ") and before.endswith(" are not known")
    assert "no IOC of this host is known to have that record" in who_wrote(exporter, "O:none").stdout
    assert exporter.request("/api/v1/who-wrote")[0] == 400
    nowhere = f"http://127.0.0.1:{free_port()}"
    done = run_exporter("who-wrote", f"--url={nowhere}", "O:open")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"ask the exporter at {nowhere}: connect to 127.0.0.1 port" in done.stderr
    assert "Connection refused" in done.stderr
    assert run_exporter("who-wrote").returncode == 2
    assert "EXIT STATUS" in run_exporter("who-wrote", "--help").stdout


def test_promtool_finds_nothing_in_all_of_it(ioc, start_exporter, raw_client):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (package prometheus)")
    exporter = start_exporter(sees=[ioc])
    client = raw_client(ioc)
    for name in ("O:locked", "O:nick"):
        send(client, client.create(name), 2, 3)
    scrape = exporter.scrape()
    for name in (FAILURES, DURATION, LAST, PV_INFO, "epics_client_channels"):
        assert scrape.series(name, ioc=ioc.name) or scrape.series(f"{name}_count", ioc=ioc.name), name
    done = subprocess.run(["promtool", "check", "metrics"], input=scrape.text, text=True,
                          capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
