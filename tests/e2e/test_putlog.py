"""The put log: each put is told once, with what was written, by whom, and what was there before."""
import collections
import contextlib
import datetime
import json
import math
import os
import signal
import struct
import subprocess
import threading
import time

import pytest

from harness import clients, env
from harness.caproto_server import CaprotoServer
from harness.exporter import run_exporter
from harness.put_log import PutLog
from harness.raw_client import DOUBLE, ECHO, READ_NOTIFY, STRING, WRITE, WRITE_NOTIFY
from harness.scrape import PUTS
from harness.wire import Wire, message

EXPORTER_OPTIONS = ["--no-collector.records"]

ARRAYS = {"STRING": ["one", "two", "x" * 39], "CHAR": [128, 127, 0, 255], "UCHAR": [255, 0, 7], "SHORT": [-32768, 0, 32767],
          "USHORT": [1, 65535], "LONG": [-2147483648, 2147483647], "ULONG": [1, 4000000000], "FLOAT": [0.5, -1e30],
          "DOUBLE": [0.1, -1e300, 7], "ENUM": [1, 65535]}
DATABASE = "".join(f'record(waveform,"L:{kind}"){{field(FTVL,"{kind}") field(NELM,"2000")}}\n' for kind in ARRAYS) + """
    record(ao,"L:ao"){field(VAL,"3.5") field(DESC,"before")}
    record(longout,"L:long"){field(VAL,"-7")}
    record(stringout,"L:text"){field(VAL,"hello")}
    record(bo,"L:bo"){field(ZNAM,"Off") field(ONAM,"On")}
    record(mbbo,"L:mbbo"){field(ZRST,"Zero") field(ONST,"One") field(TWST,"Two") field(FFST,"Last")}
    record(ao,"L:flood"){}
    record(calcout,"L:slow"){field(CALC,"VAL+1") field(ODLY,"0.1")}
    record(calcout,"L:never"){field(CALC,"A") field(ODLY,"10000")}
    record(ao,"L:locked"){field(DISP,"1")}
    record(ao,"L:closed"){field(ASG,"NONE")}
    record(aSub,"L:asub"){field(FTA,"DOUBLE") field(NOA,"10") field(FTU,"LONG") field(NOU,"10")}
    record(ao,"L:limited"){field(DRVH,"10") field(DRVL,"-10")}
    record(compress,"L:ring"){field(ALG,"Circular Buffer") field(NSAM,"10")}
    record(mbbo,"L:digits"){field(ZRST,"2") field(ONST,"1") field(TWST,"0")}
    record(lso,"L:lso"){field(SIZV,"80")}
    record(waveform,"L:five"){field(FTVL,"LONG") field(NELM,"5")}
"""
ACCESS = "ASG(DEFAULT) { RULE(1, WRITE) }\nASG(NONE) { RULE(1, READ) }\n"


@pytest.fixture(scope="module")
def ioc(shared):
    ioc = shared.ioc("putlog", DATABASE, access_security=ACCESS)
    for kind in ARRAYS:  # clients' libraries tell nothing of a monitor whose array is empty
        ioc.put(f"L:{kind}", 5)
    for pv in ("L:asub.A", "L:asub.U", "L:five", "L:lso"):
        ioc.put(pv, 5)
    return ioc


@pytest.fixture
def put_log(log_dir):
    return PutLog(log_dir / "puts.json")


@pytest.fixture(scope="module")
def common_log(shared, ioc, tmp_path_factory):
    """Of an exporter of several tests, each of which waits for all of its puts."""
    log = PutLog(tmp_path_factory.mktemp("log") / "puts.json")
    wait_heard(shared.exporter(*log.options, sees=[ioc]), ioc)
    return log


@pytest.fixture
def told_puts(common_log):
    return common_log.from_now_on()


def wait_heard(exporter, *iocs):
    """Until their servers' word is taken."""
    for ioc in iocs:
        exporter.wait_put_source(ioc, "server", timeout=60)


def put_and_monitor(ioc, log_dir, puts):
    """Values that a monitor saw before and after each of [PV, DBR type, value, op]."""
    script = log_dir / "puts.list"
    script.write_text(json.dumps(puts))
    done = subprocess.run([env.python(), env.TOOLS_SOURCE_DIR / "put_and_monitor.py", script], capture_output=True,
                          text=True, timeout=120, check=False,
                          env={"EPICS_CA_ADDR_LIST": f"127.0.0.1:{ioc.port}", "EPICS_CA_AUTO_ADDR_LIST": "NO",
                               "LOGNAME": "operator", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_list(value):
    return value if isinstance(value, list) else [value]


def number(value):
    """JSON has no NaN and no infinities."""
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def same(told, seen):
    if isinstance(told, str) and seen and isinstance(seen[0], int):  # of characters
        seen = [bytes(seen).partition(b"\0")[0].decode()]
    told = [number(value) for value in as_list(told)]
    return len(told) == len(seen) and all(
        t == s or (isinstance(s, float) and (math.isclose(t, s, rel_tol=1e-6) or (math.isnan(t) and math.isnan(s))))
        for t, s in zip(told, seen))


def test_every_type_and_array_as_a_monitor_sees_it(ioc, told_puts, log_dir):
    dbr = {"UCHAR": "CHAR", "USHORT": "LONG", "ULONG": "DOUBLE"}
    puts = []
    for kind, values in ARRAYS.items():
        sent = dbr.get(kind, kind)
        for op in ("write", "write_notify"):
            puts.append([f"L:{kind}", sent, values, op])
            puts.append([f"L:{kind}", sent, values[:1], op])
    puts += [["L:ao", "DOUBLE", value, "write"] for value in (1.25, math.nan, math.inf, -0.5)]
    puts += [["L:ao", "STRING", "6.5", "write"], ["L:ao", "LONG", -12, "write"], ["L:ao", "FLOAT", 0.5, "write_notify"],
             ["L:long", "LONG", 2147483647, "write"], ["L:long", "SHORT", -5, "write"], ["L:long", "CHAR", 200, "write"],
             ["L:long", "DOUBLE", -4.7, "write"], ["L:long", "STRING", "12", "write"],
             ["L:SHORT", "LONG", [70000, -2], "write"], ["L:FLOAT", "DOUBLE", [0.1, 2], "write"],
             ["L:text", "LONG", 17, "write"], ["L:text", "STRING", "world", "write"], ["L:ao.DESC$", "CHAR", list(b"a long string, really\0"), "write"]]
    seen = put_and_monitor(ioc, log_dir, puts)
    told = told_puts.wait(len(puts), user="operator")
    assert [put["seq"] for put in told] == list(range(told[0]["seq"], told[0]["seq"] + len(puts)))
    for put, (pv, kind, value, op), monitor in zip(told, puts, seen):
        assert (put["pv"], put["type"], put["op"]) == (pv, f"DBR_{kind}", op)
        assert put["count"] == len(as_list(value))
        assert put["ioc"] == ioc.name and put["server"] == f"127.0.0.1:{ioc.port}"
        assert put["client"].startswith("127.0.0.1:")
        if pv.endswith("$"):
            monitor = {when: ["".join(map(chr, chars)).rstrip("\0")] for when, chars in monitor.items()}
            assert (put["value"], put["old"]) == ("a long string, really", "before")
        if kind == "STRING" and pv == "L:ao":
            assert put["sent"] == value
        assert same(put["value"], monitor["after"]), (put, monitor)
        assert same(put["old"], monitor["before"]), (put, monitor)


def test_the_old_value_of_an_array_of_its_own_kind(ioc, told_puts, log_dir, connect):
    """The elements that the field had, no more; nothing where the record does not say how many."""
    puts = [[f"L:asub.{field}", kind, values, op] for field, kind in (("A", "DOUBLE"), ("U", "LONG"))
            for values in ([1, 2, 3], [7, 8], [4, 5, 6, 7, 8]) for op in ("write", "write_notify")]
    puts = [[pv, kind, [value + len(op) for value in values], op] for pv, kind, values, op in puts]  # each another
    seen = put_and_monitor(ioc, log_dir, puts)
    for put, monitor in zip(told_puts.wait(len(puts)), seen):
        assert same(put["value"], monitor["after"]) and same(put["old"], monitor["before"]), (put, monitor)
    connect(clients.libca, [ioc], ["L:ring"], 3, length=2).send()
    for put in told_puts.wait(len(puts) + 3)[len(puts):]:
        assert put["value"] and "old" not in put


# Where values begin in DBR types: string, short, float, enum, char, long, double; plain, STS, TIME, GR, CTRL.
VALUE_AT = [0] * 7 + [4, 4, 4, 4, 5, 4, 8] + [12, 14, 12, 14, 15, 12, 16] + [4, 24, 40, 422, 19, 36, 64] + [
    4, 28, 48, 422, 21, 44, 80]


def read_back(wire, sid, count=1):
    ioid = 0x6000_0000 + len(wire.received)
    wire.send(message(READ_NOTIFY, DOUBLE, count, sid, ioid))
    wire.wait(lambda: any(one.p2 == ioid for one in wire.all_of(READ_NOTIFY)))
    answer, = (one for one in wire.all_of(READ_NOTIFY) if one.p2 == ioid)
    return list(struct.unpack(f">{answer.count}d", answer.payload[:8 * answer.count]))


def test_all_types_that_the_server_takes(ioc, told_puts, started):
    """What the record has then is what is told."""
    wire = started.add(Wire(ioc.port)).introduce("typist")
    sid, = wire.open("L:ao")
    taken, puts = 0, []
    for kind, at in enumerate(VALUE_AT):
        number = kind + 41
        value = str(number).encode() if kind % 7 == 0 else struct.pack(">" + "_hfHBid"[kind % 7], number)
        for command in (WRITE, WRITE_NOTIFY):
            wire.send(message(command, kind, 1, sid, kind, bytes(at) + value))
            puts.append((number, *read_back(wire, sid)))
    for kind in (35, 36, 37, 38):
        wire.send(message(WRITE, kind, 1, sid, kind, bytes(8)))
    wire.settle(sid)
    told = told_puts.wait(len(puts) + 4)
    for put, (number, record) in zip(told, puts):
        assert float(put["value"]) == number, put
        assert "value_unknown" not in put and "overread" not in put
        if put["status"] == "ok":
            assert record == number, put
            taken += 1
    assert taken >= 35, "each in at least one way"
    assert [put.get("value_unknown") for put in told[len(puts):]] == [None, None, "type", "type"]


def test_values_that_the_server_reads_beyond_a_message(ioc, told_puts, started):
    """From what an earlier message has left in its buffer."""
    wire = started.add(Wire(ioc.port)).introduce("reader")
    number, array = wire.open("L:ao", "L:DOUBLE")
    doubles = struct.pack(">4d", 1.5, 2.5, 3.5, 4.5)
    echoes = 0
    for left, put, sid, count, value in (
            (bytes(8) + b"e5\0", message(WRITE, STRING, 1, number, 1, b"1.000000"), number, 1, "1.000000e5"),
            (doubles, message(WRITE, DOUBLE, 1, number, 1), number, 1, 1.5),
            (doubles, message(WRITE, DOUBLE, 4, array, 1, doubles[:8]), array, 4, [1.5, 2.5, 3.5, 4.5]),
            (doubles, message(WRITE, DOUBLE, 4, array, 1, doubles), array, 4, [1.5, 2.5, 3.5, 4.5])):
        wire.send(message(ECHO, payload=left))
        echoes += 1
        wire.wait(lambda: len(wire.all_of(ECHO)) == echoes)
        wire.send(put)
        told = told_puts.wait(echoes)[-1]  # the next message must not lie behind it in the server's buffer
        record = read_back(wire, sid, count)
        assert record == [float(part) for part in as_list(value)]
        assert as_list(told["value"]) == record and told.get("sent", told["value"]) == value
        assert told.get("overread", False) == (echoes < 4)


def test_a_choice_by_its_name_and_its_number_in_each_type(ioc, told_puts, log_dir):
    """As text in digits too, unless a choice is called so."""
    names = {"L:bo": ("Off", "On", 1), "L:mbbo": ("Zero", "Two", 2), "L:ao.SCAN": ("Passive", "1 second", 6),
             "L:ao.OMSL": ("supervisory", "closed_loop", 1)}
    puts, expected, before = [], [], []
    for pv, (first, second, number) in names.items():
        for kind in ("SHORT", "FLOAT", "ENUM", "CHAR", "LONG", "DOUBLE", "STRING", "name"):
            for text, value, old in ((second, number, first), (first, 0, second)):
                sent = text if kind == "name" else str(value) if kind == "STRING" else value
                puts.append([pv, "STRING" if kind == "name" else kind, sent, "write"])
                expected.append((text, None if sent == text else sent))
                before.append(old)
    for sent, text in (("1", "1"), (2.0, "0"), ("2", "2"), (2, "0")):
        puts.append(["L:digits", "STRING" if isinstance(sent, str) else "DOUBLE", sent, "write"])
        expected.append((text, None if sent == text else sent))
    put_and_monitor(ioc, log_dir, puts)
    told = told_puts.wait(len(puts))
    assert [(put["value"], put.get("sent")) for put in told] == expected
    assert [put["old"] for put in told][:len(before)] == before


def test_texts_in_arrays_of_characters(ioc, told_puts, log_dir):
    """As text; `type` says what was sent."""
    puts = [[pv, "CHAR", list(text.encode() + bytes(end)), op]
            for pv in ("L:CHAR", "L:UCHAR", "L:lso.VAL$", "L:ao.DESC$")
            for text, op, end in (("/data/run_7", "write", 1), ("/data/µ_11", "write_notify", 3))]
    seen = put_and_monitor(ioc, log_dir, puts)
    told = told_puts.wait(len(puts))
    for put, (pv, kind, value, _), monitor in zip(told, puts, seen):
        assert bytes(monitor["after"]).partition(b"\0")[0].decode() == put["value"] == bytes(value).rstrip(b"\0").decode()
        assert (put["pv"], put["type"], put["count"], put.get("sent")) == (pv, "DBR_CHAR", len(value), None)
    for before, put in zip(told[::2], told[1::2]):
        assert put["old"] == before["value"]
    # As numbers: what is no text, and what begins with 0.
    binary = [["L:CHAR", "CHAR", [0, 65, 66], "write"], ["L:UCHAR", "CHAR", [65, 200, 1], "write"]]
    put_and_monitor(ioc, log_dir, binary)
    assert [put["value"] for put in told_puts.wait(len(puts) + 2)[len(puts):]] == [value for _, _, value, _ in binary]


def test_no_more_than_the_field_takes(ioc, told_puts, log_dir):
    long_text = "a description that goes on and on beyond its field's end"
    puts = [["L:five", "DOUBLE", list(range(1, 10)), op] for op in ("write", "write_notify")]
    puts[1][2] = puts[1][2][::-1]
    puts += [["L:long", "SHORT", [7, 8, 9], "write"], ["L:text", "CHAR", list(b"abc"), "write"],
             ["L:ao.DESC$", "CHAR", list(long_text.encode()), "write"], ["L:text", "STRING", "x" * 40, "write"]]
    seen = put_and_monitor(ioc, log_dir, puts)
    told = told_puts.wait(len(puts))
    assert [put["value"] for put in told] == [[1, 2, 3, 4, 5], [9, 8, 7, 6, 5], 7, "97", long_text[:41], "x" * 39]
    assert [put["sent"] for put in told] == [*(value for _, _, value, _ in puts[:3]), "abc", long_text, "x" * 40]
    assert [put["count"] for put in told] == [9, 9, 3, 3, len(long_text), 1]
    for put, monitor in zip(told[:4], seen):
        assert same(put["value"], monitor["after"])


def test_refused_puts_have_a_reason(ioc, told_puts, raw_client):
    """Plain WRITEs too, in whatever way they come together; what it takes is ok."""
    client = raw_client(ioc)
    good, locked, closed = (client.create(name) for name in ("L:ao", "L:locked", "L:closed"))
    for _ in range(5):
        for channel in (good, locked, closed, good):
            client.write(channel, 4.5)
        client.write_text(good, "much")
        client.get(good)
    client.write(locked, 1)  # the last one
    client.get(good)
    for channel in (good, locked, closed):
        client.write_notify(channel, 7)
    told = told_puts.wait(29)
    expected = ["ok", "put_failed", "no_write_access", "ok", "put_failed"] * 5
    assert [put.get("status") for put in told] == expected + ["put_failed", "ok", "put_failed", "no_write_access"]


def test_an_acknowledgement_is_no_put(ioc, put_log, start_exporter, started, log_dir):
    """It has its own op, and no value before; the policy and the counts know one that processes the record, by a callback."""
    config = log_dir / "site.yml"
    config.write_text("policy: {rules: [{name: nobody, action: forbid, pvs: ['L:ao']}]}")
    exporter = start_exporter(*put_log.options, f"--config.file={config}", sees=[ioc])
    wait_heard(exporter, ioc)
    wire = started.add(Wire(ioc.port)).introduce("operator")
    sid, = wire.open("L:ao")
    for command in (WRITE, WRITE_NOTIFY):
        for kind in (35, 36):
            wire.send(message(command, kind, 1, sid, kind, struct.pack(">H", 2)))
    wire.send(message(WRITE, 38, 1, sid, 1, bytes(8)))  # is refused
    wire.send(message(WRITE, DOUBLE, 1, sid, 2, struct.pack(">d", 4.5)))
    wire.settle(sid)
    told = sorted(put_log.wait(6), key=lambda put: put["seq"])  # forbidden ones overtake the others
    assert [put["op"] for put in told] == ["acknowledge"] * 4 + ["write"] * 2
    for put in told[:4]:
        assert put["value"] == 2 and put["pv"] == "L:ao" and put["user"] == "operator"
        assert {"old", "sent", "value_unknown"}.isdisjoint(put)
    assert [put.get("status") for put in told[:2]] == ["ok", "ok"]
    assert [(put.get("rule"), put.get("action")) for put in told] == [(None, None)] * 2 + [("nobody", "forbidden")] * 4
    page = exporter.wait_scrape(lambda page: page.total(PUTS, ioc=ioc.name, pv="L:ao") >= 4, "the puts are counted")
    assert page.total(PUTS, ioc=ioc.name, pv="L:ao") == 4
    assert page.total("epics_unexpected_puts_total", ioc=ioc.name) == 4
    assert page.total("epics_put_failures_total", ioc=ioc.name) == 1
    for reason in ("lost", "unreadable"):
        assert page.count("ioc_exporter_dropped_total", probe="ca_server_probe", reason=reason) == 0


def test_the_value_after_a_put(ioc, put_log, start_exporter, raw_client):
    """What the record has made of it, of each of many at once."""
    exporter = start_exporter(*put_log.options, "--set=putlog.after=true", sees=[ioc])
    wait_heard(exporter, ioc)
    client = raw_client(ioc)
    limited, array, state, locked = (client.create(name) for name in ("L:limited", "L:DOUBLE", "L:bo", "L:locked"))
    expected = []
    for value in (5, 50, -50):
        client.write(limited, value)
        client.write(array, value, 3)
        client.write(array, value, 20)
        client.write(state, value > 0)
        client.write(locked, value)
        client.write_notify(limited, value / 2)
        expected += [max(-10, min(10, value)), [value] * 3, [value] * 20, "On" if value > 0 else "Off", None,
                     max(-10, min(10, value / 2))]
    client.get(limited)
    told = put_log.wait(len(expected))
    assert [put.get("after") for put in told] == expected


def test_puts_before_the_server_is_found(put_log, start_exporter, started, log_dir, connect):
    """A server that is no IOC of Base, and returns: its first clients are there sooner than the exporter, which tells their puts
    late, by what travels."""
    server = started.add(CaprotoServer(log_dir, ["L:caproto"], name="putlog_returning")).wait_running()
    exporter = start_exporter(*put_log.options, "--ioc.include=putlog_returning")
    exporter.scrape()  # its client comes when the host has been looked at
    sender = connect(clients.libca, [server], ["L:caproto"], 23)
    exporter.wait_scrape(lambda scrape: scrape.series("epics_ioc_info", ioc=server.name), "the server is found")
    sender.send()
    put_log.wait(23)
    server.kill()
    exporter.wait_scrape(lambda scrape: scrape.value("epics_ioc_up", ioc=server.name) == 0, "the server is down")
    again = started.add(CaprotoServer(log_dir, server.pvs, server.port, server.name)).wait_running()
    connect(clients.libca, [again], ["L:caproto"], 19).send()
    exporter.wait_scrape(lambda scrape: scrape.total(PUTS, ioc=server.name) == 42, "the second server is found")
    told = put_log.wait(42)
    assert [put["value"] for put in told] == [*range(23), *range(19)]
    assert [put["seq"] for put in told] == list(range(1, 43))
    assert {(put["ioc"], put["server"], put["user"], put["type"], put["count"], "old" in put) for put in told} == {
        (server.name, f"127.0.0.1:{server.port}", clients.LIBCA_USER, "DBR_DOUBLE", 1, False)}
    connect(clients.libca, [again], ["L:caproto"], 3, op="write_notify").send()
    assert [put["status"] for put in put_log.wait(45)[42:]] == ["ok"] * 3


def test_in_a_time_namespace(ioc, put_log, start_exporter, connect):
    """As containers and restored checkpoints have them: the kernel's times are not those of the clocks there."""
    day = 86400
    exporter = start_exporter(*put_log.options, sees=[ioc], prefix=[
        "unshare", "--time", f"--monotonic={2 * day}", f"--boottime={2 * day}", "--fork", "--kill-child"])
    wait_heard(exporter, ioc)
    connect(clients.libca, [ioc], ["L:flood"], 7).send()
    told = put_log.wait(7)
    ages = [(datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(put["time"])).total_seconds() for put in told]
    assert all(0 <= age < 3600 for age in ages)
    scrape = exporter.scrape()
    assert abs(scrape.value("epics_last_put_timestamp_seconds", ioc=ioc.name, pv="L:flood") - time.time()) < 3600
    done = run_exporter("puts", f"--url=http://127.0.0.1:{exporter.port}", "--since=5m")
    assert [json.loads(line) for line in done.stdout.splitlines()] == told


def test_long_arrays_are_cut(ioc, put_log, start_exporter, connect):
    exporter = start_exporter(*put_log.options, "--set=putlog.value_bytes=128", sees=[ioc])
    wait_heard(exporter, ioc)
    connect(clients.libca, [ioc], ["L:DOUBLE"], 2, length=2000).send()
    _, put = put_log.wait(2)
    assert (put["type"], put["count"]) == ("DBR_DOUBLE", 2000)
    assert len(put["value"]) == len(put["old"]) == 16
    assert put["value"] == [value + 1 for value in put["old"]]


def test_a_flood_is_told_or_counted_as_lost(ioc, put_log, start_exporter, connect):
    exporter = start_exporter(*put_log.options, "--set=putlog.buffer=1", sees=[ioc])
    wait_heard(exporter, ioc)
    quiet = connect(clients.libca, [ioc], ["L:long"], 50)
    flood = connect(clients.libca, [ioc], ["L:flood"], 15_000, batch=1000)
    flood.start_sending()
    quiet.send()
    sent = flood.wait_sent() + 50
    exporter.wait_scrape(lambda scrape: len(put_log.puts()) + put_log.dropped(scrape) >= sent, "all puts are told or counted")
    scrape = exporter.scrape()
    told = put_log.puts()
    assert len(told) + put_log.dropped(scrape) == sent
    assert scrape.sink("memory")["events"] == scrape.sink("file")["events"] == sent - put_log.lost_before(scrape)
    # Events without room in the kernel are a hole in the numbers; the others are told in order.
    numbers = [put["seq"] for put in told]
    assert numbers == sorted(set(numbers)) and numbers[-1] <= sent
    values = [put["value"] for put in told if put["pv"] == "L:flood"]
    assert values == sorted(values)
    assert len(told) - len(values) == 50


def write_on(client, channels, stop, sent):
    """Some 2,500 puts a second."""
    while not stop.is_set():
        for channel in channels * 25:
            client.write(channel, len(sent))
            sent.append(channel.name)
        time.sleep(0.02)
    client.get(channels[0])


def test_a_reload_in_a_flood_judges_as_the_metrics_do(ioc, put_log, start_exporter, raw_client, log_dir):
    config = log_dir / "site.yml"

    def policy(name: str, action: str) -> None:
        config.write_text(f"policy: {{rules: [{{name: {name}, action: {action}, pvs: 'L:flood'}}]}}")

    policy("first", "forbid")
    exporter = start_exporter(*put_log.options, "--set=putlog.buffer=64", f"--config.file={config}", sees=[ioc])
    wait_heard(exporter, ioc)
    stop, sent = threading.Event(), []
    writers = []
    for _ in range(2):
        client = raw_client(ioc)
        channels = [client.create("L:flood"), client.create("L:ao")]
        writers.append(threading.Thread(target=write_on, args=(client, channels, stop, sent)))
        writers[-1].start()
    for name, action in (("first", "forbid"), ("second", "allow"), ("third", "forbid"), ("fourth", "expect")):
        policy(name, action)
        exporter.process.popen.send_signal(signal.SIGHUP)
        exporter.wait_scrape(lambda page, name=name: page.total("ioc_exporter_policy_puts_total", rule=name) > 0, name)
    stop.set()
    for writer in writers:
        writer.join()
    page = exporter.wait_scrape(lambda page: page.sink("file")["delivered"] >= len(sent), "all are told")
    told = collections.Counter((put["pv"], put["rule"], put["action"]) for put in put_log.wait(len(sent))
                               if put["action"] in ("forbidden", "unexpected"))
    counted = {(labels["pv"], labels["rule"], labels["action"]): int(count)
               for labels, count in page.series("epics_unexpected_puts_total", ioc=ioc.name)}
    assert told == counted
    assert {rule for _, rule, _ in told} == {"first", "third", "default"}


def ring_buffers(exporter):
    """Maps of type BPF_MAP_TYPE_RINGBUF that the exporter has."""
    path = f"/proc/{exporter.pid}/fdinfo"
    found = 0
    for name in os.listdir(path):
        with contextlib.suppress(FileNotFoundError), open(f"{path}/{name}", encoding="ascii") as info:
            found += "map_type:\t27\n" in info.read()
    return found


def test_nothing_while_it_is_off(ioc, start_exporter, put_log, connect):
    exporter = start_exporter(*put_log.options[1:], sees=[ioc])
    wait_heard(exporter, ioc)
    assert ring_buffers(exporter) == 0
    connect(clients.libca, [ioc], ["L:flood"], 3).send()
    assert "ioc_exporter_putlog" not in exporter.scrape().text
    assert exporter.stop() == 0
    assert put_log.puts() == []


def test_put_callbacks_with_their_answers(ioc, put_log, start_exporter, connect):
    """Each waits for its own answer; one that takes longer is told without."""
    exporter = start_exporter(*put_log.options, "--set=putlog.answers=30s", sees=[ioc])
    wait_heard(exporter, ioc)
    connect(clients.libca, [ioc], ["L:flood", "L:slow.PROC"], 7, op="write_notify", kind="long").send()
    told = put_log.wait(14)
    assert {put["status"] for put in told} == {"ok"}
    slow = [put["seconds"] for put in told if put["pv"] == "L:slow.PROC"]
    assert len(slow) == 7 and min(slow) > 0.09  # ODLY is 0.1; a timer may be early by half a tick of EPICS
