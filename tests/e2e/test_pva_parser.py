"""The parser of PV Access against real clients and servers: pvxs (p4p) and pvAccessCPP (QSRV 1 and its links)."""
import json
import os
import pwd
import socket
import time
from types import SimpleNamespace

import pytest

from harness import clients, env
from harness.ports import free_port
from harness.process import Process
from harness.pva_wire import (BIG, BIG_ENDIAN, CREATE_CHANNEL, DESTROY_REQUEST, EXECUTE, FIRST, INIT, LAST, LITTLE, MIDDLE,
                              PUT, PvaWire)
from harness.recording import TO_CLIENT, TO_SERVER, Recording, decode_pva
from harness.waiting import wait_until

COUNT = 23
USER = pwd.getpwuid(os.getuid()).pw_name
HOST = socket.gethostname()
SET, CLOSED, ARRAY, CALL = "W:set", "W:closed", "W:array", "W:call"
QUIET = "trouble 0 0 0"


@pytest.fixture(scope="module")
def server(shared, tmp_path_factory):
    port = free_port()
    process = shared.started.add(Process("pva_server", [env.python(), env.TOOLS_SOURCE_DIR / "pva_server.py", "127.0.0.1", port,
                                                SET, CLOSED, ARRAY, CALL], tmp_path_factory.mktemp("server")))
    process.wait_for("^@ready$")
    return SimpleNamespace(pva_port=port, pva_search_port=port,
                           puts=lambda pv: process.stdout().count(f"@put {pv}\n"))


def puts_of(lines: list[str]) -> dict[str, list[str]]:
    """By PV; the others of its line."""
    return {line.split()[3]: line.split()[1:3] + line.split()[4:] for line in lines if line.startswith("put ")}


def segmented(circuit, direction: str) -> bool:
    return any(segment.data[:1] == b"\xca" and segment.data[2] & 0x30 for segment in circuit if
               segment.direction == direction)


def run_p4p(server, log_dir, puts, before_puts=lambda: None) -> list:
    recording = Recording(server.pva_port)
    client = clients.p4p(log_dir, [server], puts, COUNT).wait_connected()
    before_puts()
    assert client.send() == COUNT * len(puts)
    client.close()
    circuit, = recording.circuits()
    return circuit


PUTS = {SET: 1.5, CLOSED + "=refused": 2, ARRAY: json.dumps([0.5] * 999), CALL + "=call": 3}


def test_p4p_with_p4p(server, log_dir):
    circuit = run_p4p(server, log_dir, PUTS)
    lines, = decode_pva([circuit])
    n = str(COUNT)
    assert lines[0] == f"client ca {USER} {HOST}"
    assert puts_of(lines) == {SET: ["put", USER, n, n, "0"], ARRAY: ["put", USER, n, n, "0"],
                              CLOSED: ["put", USER, n, "0", n, "not", "today"], CALL: ["rpc", USER, n, n, "0"]}
    assert sorted(line for line in lines if line.startswith("open ")) == [f"open {pv}" for pv in
                                                                            (ARRAY, CALL, CLOSED, SET)]
    assert lines[-3:] == ["requests 0", "waiting 0", QUIET]


def test_met_on_its_way(server, log_dir):
    """A circuit that was open before: its puts have results, and no names."""
    recording = None

    def start():
        nonlocal recording
        recording = Recording(server.pva_port)

    run_p4p(server, log_dir, PUTS, start)
    lines, = decode_pva(recording.circuits(), "--joined")
    assert [line for line in lines if line.startswith("put ")] == [
        f"put put ? ? {3 * COUNT} {2 * COUNT} {COUNT} not today", f"put rpc ? ? {COUNT} {COUNT} 0 "]
    assert lines[0] == "client ? ? ?" and lines[-1] == QUIET
    assert not [line for line in lines if line.startswith("open ")]


@pytest.mark.parametrize("order", [LITTLE, BIG])
def test_byte_orders_and_segments(server, order):
    """Several names in a message, and puts in segments, to a server that answers in the same order."""
    recording = Recording(server.pva_port)
    wire = PvaWire(server.pva_port, order)
    wire.introduce("operator", "console-1")
    names = wire.names(SET, CLOSED, "W:none", ARRAY)
    cut = len(wire.names(SET, CLOSED))
    wire.send(wire.message(CREATE_CHANNEL, names[:cut], FIRST), wire.message(CREATE_CHANNEL, names[cut:], LAST))
    sids = wire.sids(4)
    values = {0: wire.pack("d", 2.5), 1: wire.pack("d", 2.5), 3: b"\x64" + wire.pack("100d", *range(100))}
    for cid, value in values.items():
        sid, ioid = sids[cid], 0x1000 + cid
        wire.send(wire.message(PUT, wire.request(sid, ioid, INIT, b"\x80\0\x01\x05field\x80\0\0")))
        wire.wait(lambda ioid=ioid: len(wire.answers(ioid)) == 1)
        put = wire.request(sid, ioid, EXECUTE, b"\x01\x02" + value)
        for n in range(COUNT):
            wire.send(wire.message(PUT, put[:10], FIRST), wire.message(PUT, put[10:12], MIDDLE),
                      wire.message(PUT, put[12:], LAST))
            wire.wait(lambda ioid=ioid, n=n: len(wire.answers(ioid)) == 2 + n)
        wire.send(wire.message(DESTROY_REQUEST, wire.pack("II", sid, ioid)))
    assert all(bool(one.flags & BIG_ENDIAN) == (order == BIG) for one in wire.all_of(PUT))
    wire.close()
    lines, = decode_pva(recording.circuits())
    n = str(COUNT)
    assert lines[0] == "client ca operator console-1"
    assert puts_of(lines) == {SET: ["put", "operator", n, n, "0"], ARRAY: ["put", "operator", n, n, "0"],
                              CLOSED: ["put", "operator", n, "0", n, "not", "today"]}
    assert lines[-3:] == ["requests 0", "waiting 0", QUIET]


WAVE = 'record(waveform,"V:wave"){field(FTVL,"DOUBLE") field(NELM,"30000")}\nrecord(ao,"V:set"){}\n'


def test_p4p_with_qsrv1(start_ioc, log_dir):
    """pvAccessCPP sends large answers in segments."""
    ioc = start_ioc("pva-parsed", WAVE, qsrv=1)
    circuit = run_p4p(ioc, log_dir, {"V:wave": json.dumps([1] * 30000), "V:set": 1})
    lines, = decode_pva([circuit])
    n = str(COUNT)
    assert segmented(circuit, TO_CLIENT)
    assert puts_of(lines) == {"V:wave": ["put", USER, n, n, "0"], "V:set": ["put", USER, n, n, "0"]}
    assert lines[-3:] == ["requests 0", "waiting 0", QUIET]


def test_links_of_qsrv1_with_p4p(server, start_ioc, log_dir):
    """pvAccessCPP as the client, which sends large arrays in segments."""
    link = {pv: json.dumps({"pva": {"pv": pv, "field": "value"}}) for pv in (SET, ARRAY)}
    database = (f'record(ao,"K:out"){{field(OUT,{link[SET]})}}\n'
                f'record(aao,"K:large"){{field(FTVL,"DOUBLE") field(NELM,"20000") field(OUT,{link[ARRAY]})}}\n')
    recording = Recording(server.pva_port)
    ioc = start_ioc("pva-linked", database, qsrv=1, prefix=["env", f"EPICS_PVA_BROADCAST_PORT={server.pva_search_port}"])
    wait_until(lambda: ioc.shell("dbjlr").count("conn=T") == 2, "both links are connected")
    before = {pv: server.puts(pv) for pv in (SET, ARRAY)}

    def wait_puts(pv, count):
        wait_until(lambda: server.puts(pv) == before[pv] + count, "the link has put its value")
        time.sleep(0.1)  # until the link knows: one that is told meanwhile may hang (Base 7.0.10)

    fill = clients.p4p(log_dir, [ioc], {"K:large": json.dumps([1] * 20000)}, 1).wait_connected()
    fill.send()
    fill.close()
    wait_puts(ARRAY, 1)
    for n in range(1, 5):
        ioc.put("K:large.PROC", 1)
        wait_puts(ARRAY, n + 1)
    for n in range(5):
        ioc.put("K:out", n)
        wait_puts(SET, n + 1)
    circuit, = recording.circuits()
    lines, = decode_pva([circuit])
    n = "5"
    assert segmented(circuit, TO_SERVER)
    assert lines[0] == f"client ca {USER} {HOST}"
    assert puts_of(lines) == {SET: ["put", USER, n, n, "0"], ARRAY: ["put", USER, n, n, "0"]}
    assert lines[-2:] == ["waiting 0", QUIET]
