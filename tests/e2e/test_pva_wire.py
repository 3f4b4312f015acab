"""Puts by PV Access, counted from packets: servers of p4p, IOCs without the server probe, p4p's gateway."""
import http.server
import json
import os
import threading
import time
import urllib.request
from collections import Counter

import pytest

from harness import clients
from harness.clients import GUEST, LIBCA_USER, LOOPBACK
from harness.exporter import run_exporter
from harness.put_log import PutLog
from harness.pva_server import PvaGateway, PvaServer
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
FAILURES = "epics_put_failures_total"
UNEXPECTED = "epics_unexpected_puts_total"
DURATIONS = "epics_put_duration_seconds_count"
SET, OTHER, CLOSED, CALL, ARRAY = "V:set", "V:other", "V:closed", "V:call", "V:array"
PVS = [SET, OTHER, CLOSED, CALL, ARRAY]
POLICY = f"""
policy:
  rules:
    - name: no guests
      action: forbid
      users: {GUEST}
    - name: operators
      action: expect
      clients: 127.0.0.0/8
"""


@pytest.fixture
def start_server(started, log_dir):
    return lambda name: started.add(PvaServer(log_dir, PVS, name))


def is_found(page, server) -> bool:
    return bool(page.series("epics_ioc_info", ioc=server.name, pid=str(server.pid)))


def counts(page, server, family: str = PUTS, *names: str) -> Counter:
    names = names or ("pv", "user", "op")
    return Counter({tuple(labels[name] for name in names): value
                    for labels, value in page.series(family, ioc=server.name, protocol="pva")})


def dropped(page) -> dict[str, float]:
    """Of what packets do not show."""
    return {labels["reason"]: value for labels, value in
            page.series("ioc_exporter_dropped_total", probe="ca_tap") if value}


def test_server_without_ioc(start_server, start_exporter, connect_p4p, as_guest, tmp_path):
    """It gets its name with its first client, who is counted from the start."""
    site = tmp_path / "site.yml"
    site.write_text(POLICY)
    log = PutLog(tmp_path / "puts.log")
    server = start_server("pva_bare")
    exporter = start_exporter("--ioc.include=pva_bare", f"--pva.server-port={server.port}", f"--config.file={site}", *log.options)
    assert not is_found(exporter.scrape(), server), "nobody has talked to it yet"
    operator = connect_p4p(server, {SET: 1, OTHER: 2, CLOSED + "=refused": 3, CALL + "=call": 4}, 23)
    guest = connect_p4p(server, {SET: 5, CALL + "=call": 6}, 7, as_guest)
    assert [one.send() for one in (operator, guest)] == [23 * 4, 7 * 2]
    assert [server.saw(*seen) for seen in (("put", SET), ("put", OTHER), ("closed", CLOSED), ("call", CALL))] == \
        [30, 23, 23, 30]
    page = exporter.wait_scrape(lambda page: is_found(page, server), "the server is found")
    assert {labels["kind"] for labels, _ in page.series("epics_ioc_info", ioc=server.name)} == {"pva_server"}
    assert page.put_source(server, "pva") == "packets" and page.put_source(server) is None
    puts = Counter({(SET, LIBCA_USER, "put"): 23, (OTHER, LIBCA_USER, "put"): 23, (CLOSED, LIBCA_USER, "put"): 23,
                    (CALL, LIBCA_USER, "rpc"): 23, (SET, GUEST, "put"): 7, (CALL, GUEST, "rpc"): 7})
    assert counts(page, server) == puts, dropped(page)
    for labels, _ in page.series(PUTS, ioc=server.name):
        assert (labels["client"], labels["client_host"]) == (LOOPBACK, LOOPBACK)
    assert counts(page, server, FAILURES, "pv", "user", "reason") == Counter({(CLOSED, LIBCA_USER, "put_failed"): 23})
    assert counts(page, server, DURATIONS, "pv") == Counter({(SET,): 30, (OTHER,): 23, (CLOSED,): 23, (CALL,): 30})
    assert page.value("epics_last_put_timestamp_seconds", ioc=server.name, pv=OTHER) > 1.7e9
    assert counts(page, server, UNEXPECTED, "pv", "user", "action") == Counter(
        {(SET, GUEST, "forbidden"): 7, (CALL, GUEST, "forbidden"): 7})
    assert not dropped(page)
    wrote = json.loads(run_exporter("who-wrote", f"--url=http://127.0.0.1:{exporter.port}", "--json", CALL).stdout)
    assert Counter({(put["user"], put["op"]): put["puts"] for put in wrote["puts"]}) == Counter(
        {(LIBCA_USER, "rpc"): 23, (GUEST, "rpc"): 7})
    logged = log.wait(puts.total(), ioc=server.name)
    assert Counter((put["pv"], put["user"], put["op"]) for put in logged) == puts
    assert {(put["value_unknown"], put["client"].partition(":")[0], "value" in put) for put in logged} == {
        ("pv_access", LOOPBACK, False)}
    assert Counter(put["action"] for put in logged) == Counter(forbidden=14, expected=92) and not log.dropped(page)
    status, _, text = exporter.request("/")
    assert status == 200 and "another PVA server" in text.decode()
    # Who is connected.
    assert page.count("epics_circuits", ioc=server.name, protocol="pva") == 2
    assert page.count("epics_channels", ioc=server.name, protocol="pva", access="unknown") == 6
    assert not page.series("epics_monitors", ioc=server.name) and not page.series("epics_circuits", protocol="ca",
                                                                                  ioc=server.name)
    assert counts(page, server, "epics_client_channels", "client", "user") == Counter(
        {(LOOPBACK, LIBCA_USER): 4, (LOOPBACK, GUEST): 2})
    operator.close()
    page = exporter.wait_scrape(lambda page: page.count("epics_circuits", ioc=server.name, protocol="pva") == 1, "it left")
    assert page.count("epics_channels", ioc=server.name, protocol="pva", access="unknown") == 2
    assert counts(page, server) == puts
    server.kill()
    page = exporter.wait_scrape(lambda page: page.value("epics_ioc_up", ioc=server.name) == 0, "it is gone")
    assert counts(page, server) == puts


RECORDS = 'record(ao,"V:both"){field(FLNK,"V:both:count")} record(calc,"V:both:count"){field(CALC,"VAL+1")}'


@pytest.mark.parametrize("source", ["server", "packets"])
def test_ioc_by_both_protocols(start_ioc, start_exporter, connect, connect_p4p, source):
    """Each put once, under the protocol that it came by; who is connected in either case."""
    ioc = start_ioc(f"pva-{source}", RECORDS, qsrv=2)
    exporter = start_exporter({"server": "--server-probe", "packets": "--no-server-probe"}[source], sees=[ioc])
    exporter.wait_put_source(ioc, source)
    exporter.wait_put_source(ioc, source, "pva")
    by_pva, by_ca = connect_p4p(ioc, {"V:both": 1}, 101), connect(clients.libca, [ioc], ["V:both"], 211)
    assert [by_pva.send(), by_ca.send()] == [101, 211]
    assert ioc.get("V:both:count.VAL") == 312
    page = exporter.wait_scrape(lambda s: s.count("epics_circuits", ioc=ioc.name, protocol="ca") == 1, "the server's memory is read")
    assert counts(page, ioc) == Counter({("V:both", LIBCA_USER, "put"): 101})
    assert page.count(PUTS, ioc=ioc.name, protocol="ca", op="write") == 211
    assert page.total(PUTS) == 312
    assert counts(page, ioc, DURATIONS, "pv") == Counter({("V:both",): 101})
    for protocol in ("ca", "pva"):
        assert page.count("epics_circuits", ioc=ioc.name, protocol=protocol) == 1
        assert page.total("epics_channels", ioc=ioc.name, protocol=protocol) == 1
    assert counts(page, ioc, "epics_client_circuits", "client", "user") == Counter({(LOOPBACK, LIBCA_USER): 1})


def test_links_of_pvaccesscpp(start_server, start_ioc, start_exporter, connect_p4p):
    """Its client sends large arrays in segments."""
    server = start_server("pva_linked_to")
    exporter = start_exporter("--ioc.include=pva_linked_to", f"--pva.server-port={server.port}")
    exporter.wait_first_look()
    link = json.dumps({"pva": {"pv": ARRAY, "field": "value"}})
    ioc = start_ioc("pva-linked", f'record(aao,"K:large"){{field(FTVL,"DOUBLE") field(NELM,"20000") field(OUT,{link})}}\n',
                    qsrv=1, prefix=["env", f"EPICS_PVA_BROADCAST_PORT={server.pva_search_port}"])
    wait_until(lambda: ioc.shell("dbjlr").count("conn=T") == 1, "the link is connected")
    for n in range(1, 6):
        connect_p4p(ioc, {"K:large": json.dumps([n] * 20000)}, 1).send()
        wait_until(lambda n=n: server.saw("put", ARRAY) == n, "the link has put its value")
        time.sleep(0.1)  # until the link knows: one that is told meanwhile may hang (Base 7.0.10)
    page = exporter.wait_scrape(lambda page: is_found(page, server), "the server is found")
    assert counts(page, server) == Counter({(ARRAY, LIBCA_USER, "put"): 5}) and not dropped(page)


def test_source_changes(start_ioc, start_exporter, connect_p4p):
    """Detached probes bring the packets, and come back; no put counts twice."""
    ioc = start_ioc("pva-changes", RECORDS, qsrv=2)
    exporter = start_exporter("--server-probe", "--web.enable-lifecycle", sees=[ioc])
    exporter.wait_put_source(ioc, "server", "pva")
    client = connect_p4p(ioc, {"V:both": 1}, 23)
    done = lambda count: wait_until(lambda: ioc.get("V:both:count.VAL") == count, f"{count} puts are done")
    client.start_sending()
    done(23)
    ioc.process.popen.send_signal(19)  # SIGSTOP: its memory is left alone
    try:
        exporter.wait_put_source(ioc, "packets", "pva")
    finally:
        ioc.process.popen.send_signal(18)
    client.start_sending()
    done(46)
    counted = exporter.wait_put_source(ioc, "server", "pva").total(PUTS, ioc=ioc.name)
    assert 23 <= counted <= 46, "the first puts are beyond doubt, and the last"
    client.start_sending()
    done(69)
    page = exporter.scrape()
    assert page.total(PUTS, ioc=ioc.name) == counted + 23
    assert page.count("ioc_exporter_put_source_switch_total", ioc=ioc.name, protocol="pva") == 2


def test_gateway(start_ioc, start_exporter, connect_p4p, started, log_dir):
    """Its clients' puts have its name, and it is the IOC's client, which is told."""
    ioc = start_ioc("pva-behind", RECORDS, qsrv=2)
    gateway = started.add(PvaGateway(log_dir, ioc, "pva_gateway"))
    exporter = start_exporter("--ioc.include=pva-behind|pva_gateway", "--server-probe",
                              f"--pva.server-port={gateway.port}", sees=[ioc])
    exporter.wait_put_source(ioc, "server", "pva")
    through = connect_p4p(gateway, {"V:both": 1}, 101)
    through.send()
    page = exporter.wait_scrape(lambda page: is_found(page, gateway), "the gateway is found")
    assert {labels["kind"] for labels, _ in page.series("epics_ioc_info", ioc="pva_gateway")} == {"gateway"}
    assert counts(page, gateway) == Counter({("V:both", LIBCA_USER, "put"): 101})
    assert counts(page, ioc, PUTS, "pv", "op") == Counter({("V:both", "put"): 101})
    assert ioc.get("V:both:count.VAL") == 101
    assert [(labels["ioc"], labels["client"]) for labels, _ in page.series("epics_gateway_info")] == [
        ("pva-behind", LOOPBACK)]
    status, _, text = exporter.request("/")
    assert status == 200 and "a PVA gateway" in text.decode(), [line for line in text.decode().splitlines() if "pva_gateway" in line]


def test_other_port_is_no_server(start_server, start_exporter, connect_p4p):
    """A web server at a port where one for PV Access is expected."""
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    try:
        server = start_server("pva_beside")
        exporter = start_exporter(f"--ioc.include={os.environ['IOCNAME']}|pva_beside",
                                  f"--pva.server-port={web.server_port},{server.port}")
        exporter.wait_first_look()
        for _ in range(7):
            with urllib.request.urlopen(f"http://127.0.0.1:{web.server_port}/") as answer:
                answer.read()
        connect_p4p(server, {SET: 1}, 23).send()
        page = exporter.wait_scrape(lambda page: is_found(page, server), "the server is found")
        assert {labels["ioc"] for labels, _ in page.series("epics_ioc_up")} == {server.name}
        assert page.total(PUTS) == 23
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
