"""Puts that hide from whoever reads packets: the IOC's server says what it was asked for."""
import struct

import pytest
from harness import databases
from harness.forger import Forger, inside
from harness.put_log import PutLog
from harness.raw_client import CLEAR_CHANNEL, CREATE_CHAN, DOUBLE, WRITE, Channel, RawClient
from harness.redirect import redirect
from harness.scrape import PUTS
from harness.wire import Wire, client_name, create, message, write, write_notify

EXPORTER_OPTIONS = ["--no-collector.records"]


class Hider(RawClient):
    def write_message(self, channel: Channel, value: float) -> bytes:
        payload = struct.pack(">d", value)
        return struct.pack(">HHHHII", WRITE, len(payload), DOUBLE, 1, channel.sid, 7) + payload

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)


@pytest.fixture(scope="module")
def one_ioc(shared, network):
    return shared.ioc("hidden", databases.put_targets("H:", 3), address="")  # on all addresses


@pytest.fixture
def ioc(one_ioc):
    one_ioc.before = one_ioc.get_all([f"H:set{i}:count.VAL" for i in (1, 2, 3)])
    return one_ioc


@pytest.fixture
def witness(ioc, start_exporter):
    exporter = start_exporter("--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    return exporter


@pytest.fixture
def hider(started, ioc, witness):
    def start(user: str) -> Hider:
        return started.add(Hider(ioc.port, user, "console9"))

    return start


def by_pv(page, ioc, user: str | None = None) -> dict[str, int]:
    sums: dict[str, int] = {}
    for labels, value in page.series(PUTS, ioc=ioc.name, **({"user": user} if user else {})):
        sums[labels["pv"]] = sums.get(labels["pv"], 0) + int(value)
    return sums


def written(ioc) -> dict[str, int]:
    """Puts by the records' own count."""
    return {f"H:set{i}": n for i in (1, 2, 3)
            if (n := int(ioc.get(f"H:set{i}:count.VAL") - ioc.before[f"H:set{i}:count.VAL"]))}


def check(ioc, witness, expected: dict[str, int], user: str) -> None:
    assert written(ioc) == expected
    assert by_pv(witness.scrape(), ioc) == expected
    assert by_pv(witness.scrape(), ioc, user) == expected


def test_a_name_that_changes_between_puts(ioc, witness, started):
    """The server takes another name while the circuit has no channel of its own."""
    owner = started.add(Wire(ioc.port)).introduce("owner")
    theirs, = owner.open("H:set1")
    guest = started.add(Wire(ioc.port)).introduce("1st-name")
    guest.send(write(theirs) * 5, client_name("2nd-name"), write(theirs) * 7)
    guest.send(client_name("3rd-name"), write(theirs) * 11)  # which has the memory of the first
    own, = guest.open("H:set2")
    guest.send(write(own) * 3, client_name("4th-name"), write(own) * 2, write(theirs) * 13).settle(own)
    page = witness.scrape()
    assert written(ioc) == by_pv(page, ioc) == {"H:set1": 36, "H:set2": 5}
    assert {name: by_pv(page, ioc, f"{name}-name") for name in ("1st", "2nd", "3rd", "4th")} == {
        "1st": {"H:set1": 5}, "2nd": {"H:set1": 7}, "3rd": {"H:set1": 24, "H:set2": 5}, "4th": {}}


def test_puts_before_the_channel_is_answered(ioc, witness, hider):
    client = hider("early")
    first = client.create("H:set1")
    early = Channel("H:set2", 99)
    early.sid = first.sid + 1
    client._channels[99] = early
    client._send(CREATE_CHAN, p1=99, p2=13, payload=b"H:set2\0")
    client.send(b"".join(client.write_message(early, i) for i in range(19)))
    client.get(first)
    check(ioc, witness, {"H:set2": 19}, "early")


def test_a_forger_on_the_same_network(ioc, witness, hider, started):
    """Marks a byte as urgent before its turn: the server's kernel agrees, and who only reads packets cannot know that."""
    forger = started.add(Forger("127.0.0.1", "127.0.0.1", ioc.port, "lo"))
    client = hider("forger")
    shown, hidden = client.create("H:set1"), client.create("H:set2")
    message = client.write_message(shown, 1)
    at = forger.place(client.port)
    forger.send(client.port, at.client + len(message), at.server, b"!", urgent=True)
    client.send(message + b"!" + b"".join(client.write_message(hidden, i) for i in range(50)))
    client.get(hidden)
    check(ioc, witness, {"H:set1": 1, "H:set2": 50}, "forger")


@pytest.mark.parametrize("where", ["near", "far"])
def test_a_port_that_is_redirected(ioc, witness, started, network, where):
    """Packets carry the port that the client wrote: the server says who put, by the connection that it has."""
    port = {"near": 4071, "far": 4072}[where]
    if not redirect(port, ioc.port):
        pytest.skip("the kernel has no nf_tables with NAT")
    user, client = f"redirected-{where}", network.there if where == "far" else "127.0.0.1"
    if where == "near":
        wire = started.add(Wire(port))
    else:
        with inside(network.pid):
            wire = started.add(Wire(port, network.here))
    first, second = wire.introduce(user).open("H:set1", "H:set2")
    wire.send(write(first) * 211, write(second) * 101)
    wire.send(*[write_notify(second, i) for i in range(23)]).settle(first)
    check(ioc, witness, {"H:set1": 211, "H:set2": 124}, user)
    assert all(labels["client"] == client for labels, _ in witness.scrape().series(PUTS, ioc=ioc.name, user=user))


POLICY = """
policy:
  default: allow
  rules:
    - name: hands off
      action: forbid
      pvs: H:set2
"""


def chain_of(sid: int) -> int:
    """Chain of the server's hash that the channel is in."""
    return (sid ^ sid >> 12 ^ sid >> 24) & 0xFFF


def bury(client: Wire, sid: int, length: int) -> None:
    """Opens channels, and keeps so many of them that stand before that one in its chain."""
    kept, cid, batch = 0, 1000, 1024
    while kept < length:
        client.send(*(create(cid + i, "H:set1") for i in range(batch)))
        sids = [(p1, p2) for command, *_, p1, p2 in client.read_headers(2 * batch) if command == CREATE_CHAN]
        others = [(p1, p2) for p1, p2 in sids if chain_of(p2) != chain_of(sid)]
        client.send(*(message(CLEAR_CHANNEL, p1=p2, p2=p1) for p1, p2 in others))
        client.read_headers(len(others))
        kept, cid = kept + len(sids) - len(others), cid + batch


def test_a_channel_behind_a_long_chain_of_the_servers_hash(ioc, start_exporter, started, log_dir):
    """The program does not find it; the exporter does, in all of the hash."""
    site = log_dir / "site.yml"
    site.write_text(POLICY)
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter("--server-probe", f"--config.file={site}", *put_log.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    client = started.add(Wire(ioc.port)).introduce("rogue")
    sid, = client.open("H:set2")
    bury(client, sid, 101)
    client.send(write(sid))
    page = exporter.wait_scrape(lambda page: by_pv(page, ioc), "the put")
    assert by_pv(page, ioc) == {"H:set2": 1}
    assert page.value("epics_unexpected_puts_total", ioc=ioc.name, pv="H:set2", user="rogue",
                      action="forbidden") == 1
    told, = put_log.wait(1)
    assert (told["pv"], told["user"], told["action"]) == ("H:set2", "rogue", "forbidden"), "as the metrics say"


@pytest.mark.parametrize("names", [["mallory"], ["carol", "mallory"]], ids=["once", "to_the_same_memory"])
def test_a_channel_that_is_gone_under_another_name(ioc, start_exporter, started, log_dir, names):
    """The server refuses the put, which is nobody's, whoever had the channel before."""
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter("--server-probe", *put_log.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    for _ in range(9):
        client = started.add(Wire(ioc.port)).introduce("alice")
        sid, = client.open("H:set2")
        client.send(write(sid)).settle(sid)
        client.send(message(CLEAR_CHANNEL, p1=sid, p2=1000))
        client.wait(lambda: client.all_of(CLEAR_CHANNEL))
        client.send(*(client_name(name) for name in names), write(sid))
        client.wait_closed()
    told = [(put.get("pv", ""), put.get("user", ""), put["status"]) for put in put_log.wait(18)]
    assert told == [("H:set2", "alice", "ok"), ("", "", "internal_error")] * 9
    page = exporter.scrape()
    assert {(labels["pv"], labels["user"]): count for labels, count in page.series(PUTS, ioc=ioc.name)} == {
        ("H:set2", "alice"): 9, ("", ""): 9}
    assert page.value("ioc_exporter_dropped_total", probe="ca_server_probe", reason="unreadable") == 9


def test_a_put_to_no_channel_is_not_judged(ioc, start_exporter, started, log_dir):
    """To a channel that does not exist, such as one that was cleared."""
    site = log_dir / "site.yml"
    site.write_text(POLICY)
    exporter = start_exporter("--server-probe", f"--config.file={site}", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    client = started.add(Wire(ioc.port)).introduce("rogue")
    client.open("H:set2")
    client.send(write(12345678))
    page = exporter.wait_scrape(lambda page: by_pv(page, ioc), "the put")
    assert by_pv(page, ioc) == {"": 1}
    assert page.value("epics_unexpected_puts_total", ioc=ioc.name, pv="", user="rogue", action="unjudged") == 1
    assert page.value("ioc_exporter_dropped_total", probe="ca_server_probe", reason="unnamed") == 1
