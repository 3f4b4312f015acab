"""CA servers that are no IOCs of EPICS Base, on other hosts, or in other network namespaces."""
import http.server
import os
import threading
import urllib.request

import pytest

from harness import clients, databases, env
from harness.caproto_server import CaprotoServer
from harness.exporter import run_exporter
from harness.network import OtherNetwork, enter_own_network
from harness.process import Process
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]

PVS = ["S:one", "S:two", "S:three"]


@pytest.fixture
def start_server(started, log_dir):
    """start_server(port=..., name=...) -> a running CaprotoServer."""
    def start(**options) -> CaprotoServer:
        return started.add(CaprotoServer(log_dir, PVS, **options)).wait_running()

    return start


def puts(scrape, server, user=clients.LIBCA_USER, client=clients.LOOPBACK):
    """PV to count; nobody else has written to the server."""
    series = scrape.series(PUTS, ioc=server)
    assert all(labels["user"] == user and labels["client"] == client and
               labels["client_host"] == clients.HOST for labels, _ in series), series
    return {labels["pv"]: value for labels, value in series}


def is_found(scrape, server) -> bool:
    return bool(scrape.series("epics_ioc_info", ioc=server.name, pid=str(server.pid)))


def test_found_by_its_protocol(start_server, start_exporter, connect):
    """On a port that nobody named. It gets its name with its first client, who is counted from the start."""
    server = start_server()
    exporter = start_exporter("--ioc.include=caproto_server")
    assert not is_found(exporter.scrape(), server), "nobody has talked to it yet"
    sender = connect(clients.libca, [server], PVS, 211, batch=10)
    scrape = exporter.wait_scrape(lambda s: is_found(s, server), "the server is found")
    assert scrape.value("epics_ioc_info", ioc=server.name, pid=str(server.pid), base_version="",
                        ca_port=str(server.port)) == 1
    assert scrape.value("epics_ioc_up", ioc=server.name) == 1
    assert not scrape.series("epics_ioc_records_watched", ioc=server.name), "it has none"
    assert sender.send() == 211 * len(PVS)
    assert server.counts(211 * len(PVS)) == dict.fromkeys(PVS, 211)
    scrape = exporter.scrape()
    assert puts(scrape, server.name) == dict.fromkeys(PVS, 211)
    assert scrape.count("epics_channels", ioc=server.name, access="read_write") == len(PVS)
    assert scrape.count("epics_circuits", ioc=server.name) == 1
    status, _, page = exporter.request("/")
    assert status == 200 and "caproto_server" in page.decode()
    assert "another CA server" in page.decode()

    server.kill()
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc=server.name) == 0, "it is gone")
    assert puts(exporter.scrape(), server.name) == dict.fromkeys(PVS, 211)

    # As soon again: its port is watched for what comes next. A client's search shows it.
    again = start_server(port=server.port)
    sender = connect(clients.libca, [again], PVS, 101, batch=10)
    assert sender.send() == 101 * len(PVS)
    exporter.wait_scrape(lambda s: is_found(s, again), "it is found again")
    scrape = exporter.wait_scrape(lambda s: s.total(PUTS, ioc=server.name) == 312 * len(PVS), "all puts are counted")
    assert puts(scrape, server.name) == dict.fromkeys(PVS, 312)


def test_other_listeners_are_no_servers(start_server, start_exporter, connect):
    """A web server that is used is not taken for a CA server, and is not asked about any more."""
    enter_own_network()  # no other program's listeners
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=web.serve_forever)
    thread.start()
    try:
        server = start_server()
        # This process, whose web server is asked, and whatever else it has.
        exporter = start_exporter(f"--ioc.include={os.environ['IOCNAME']}|caproto_server.*")
        exporter.scrape()
        for _ in range(7):
            with urllib.request.urlopen(f"http://127.0.0.1:{web.server_port}/") as answer:
                answer.read()
        connect(clients.libca, [server], PVS, 23).send()
        scrape = exporter.wait_scrape(lambda s: is_found(s, server), "the server is found")
        up = {labels["ioc"] for labels, _ in scrape.series("epics_ioc_up")}
        assert up == {server.name}
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


@pytest.fixture
def other_network(started):
    enter_own_network()
    return started.add(OtherNetwork())


def test_ioc_in_another_network_namespace(other_network, start_ioc, start_exporter, connect):
    """Its server's probes tell its puts, its memory who is connected and by which names, also since before the exporter;
    what only packets tell is absent."""
    ioc = start_ioc("inside", databases.put_targets("N:", 3), prefix=other_network.prefix,
                    address=other_network.there)
    pvs = [f"N:set{i}" for i in range(1, 4)]
    outside = connect(clients.libca, [ioc], pvs, 211, address=other_network.there)
    exporter = start_exporter("--ioc.include=inside", "--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    inside = connect(clients.libca, [ioc], pvs, 101, address=other_network.there, prefix=other_network.prefix)
    for sender in (outside, inside):
        sender.send()
    scrape = exporter.wait_scrape(lambda s: s.total(PUTS, ioc="inside") >= 312 * len(pvs), "all puts")
    for pv in pvs:
        assert scrape.count(PUTS, ioc="inside", pv=pv, client=other_network.here) == 211
        assert scrape.count(PUTS, ioc="inside", pv=pv, client=other_network.there) == 101
        assert ioc.get(f"{pv}:count.VAL") == 312
    assert len(scrape.series(PUTS)) == 2 * len(pvs)
    assert scrape.value("epics_ioc_info", ioc="inside", pid=str(ioc.pid), ca_port=str(ioc.port)) == 1
    assert scrape.count("epics_circuits", ioc="inside") == 2
    assert scrape.count("epics_channels", ioc="inside", access="read_write") == 2 * len(pvs)
    assert {labels["client"] for labels, _ in scrape.series("epics_client_channels", ioc="inside")} == {
        other_network.here, other_network.there}
    assert not scrape.series("epics_ca_received_bytes_total", ioc="inside")
    ioc.kill()
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc="inside") == 0, "the IOC is down")
    scrape = exporter.scrape()
    assert scrape.total(PUTS, ioc="inside") == 312 * len(pvs)
    assert not scrape.series("epics_ca_received_bytes_total", ioc="inside")


def test_servers_out_of_reach(other_network, start_ioc, start_exporter, connect):
    """Puts to a server in another network namespace without probes are not counted, which is said."""
    ioc = start_ioc("beyond", databases.put_targets("F:", 1), prefix=other_network.prefix, address=other_network.there)
    exporter = start_exporter("--ioc.include=beyond", "--no-server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "none")
    connect(clients.libca, [ioc], ["F:set1"], 23, address=other_network.there).send()
    assert ioc.get("F:set1:count.VAL") == 23
    assert not exporter.scrape().series(PUTS)
    sentence = ("Its puts are not counted: it is in another network namespace, where packets are not read, and its server is "
                "not probed.")
    assert sentence in exporter.request("/")[2].decode()
    assert sentence in run_exporter("--check", "--ioc.include=beyond", "--no-server-probe").stdout


def test_remote_servers(other_network, start_ioc, start_exporter, connect):
    """A server elsewhere is named by its address."""
    ioc = start_ioc("elsewhere", databases.put_targets("R:", 3), prefix=other_network.prefix,
                    address=other_network.there)
    name = f"{other_network.there}:{ioc.port}"
    exporter = start_exporter("--ioc.include=10[.]213[.].*", "--ca.remote-servers",
                              f"--ca.server-port={ioc.port}")
    exporter.scrape()
    pvs = [f"R:set{i}" for i in range(1, 4)]
    sender = connect(clients.libca, [ioc], pvs, 211, address=other_network.there)
    sender.send()
    expected = dict.fromkeys(pvs, 211)
    scrape = exporter.wait_scrape(lambda s: s.total(PUTS, ioc=name) == 211 * 3, "they are counted")
    assert puts(scrape, name, client=other_network.here) == expected
    assert scrape.count("epics_circuits", ioc=name) == 1
    assert len(scrape.series(PUTS)) == len(pvs)
    for pv in pvs:
        assert ioc.get(f"{pv}:count.VAL") == 211


GATEWAYS = "epics_gateway_info"
FORWARDER = "127.0.0.9"


class Gateway:
    """tests/tools/ca_gateway.cpp, in front of an IOC."""

    def __init__(self, name: str, ioc, log_dir, address: str = FORWARDER):
        self.name = name
        self.process = Process(name, [env.tool("ca_gateway"), ioc.port, address], log_dir,
                               {"IOCNAME": name, "IOC_NAME": "", "IOC": ""})
        self.port = int(self.process.wait_for(r"^@running (\d+)$")[1])

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()


def gateways(scrape) -> list[tuple[str, str]]:
    assert all(value == 1 for _, value in scrape.series(GATEWAYS))
    return sorted((labels["ioc"], labels["client"]) for labels, _ in scrape.series(GATEWAYS))


def put_times(client, pv, count) -> None:
    channel = client.create(pv)
    for value in range(count):
        client.write(channel, value)
    client.get(channel)


def of_site(scrape) -> float:
    """sum(epics_puts_total unless on (ioc, client) epics_gateway_info), as docs/counts.md has it."""
    behind = set(gateways(scrape))
    return sum(value for labels, value in scrape.series(PUTS) if (labels["ioc"], labels["client"]) not in behind)


@pytest.mark.parametrize("source", ["--server-probe", "--no-server-probe"])
def test_gateway_of_this_host(source, start_ioc, start_exporter, started, raw_client, log_dir):
    """Its clients' puts have its name; at the IOC it is a client, which is told; a site's sum counts each put once."""
    ioc = start_ioc("behind", databases.put_targets("G:", 1))
    gateway = started.add(Gateway("gateway", ioc, log_dir))
    exporter = start_exporter("--ioc.include=behind|gateway", f"--ca.server-port={gateway.port}", source)
    exporter.wait_scrape(lambda s: is_found(s, gateway) and is_found(s, ioc), "both are found")
    if source == "--server-probe":
        exporter.wait_put_source(ioc, "server")
    scrape = exporter.scrape()
    assert {labels["kind"] for labels, _ in scrape.series("epics_ioc_info", ioc="gateway")} == {"gateway"}
    assert {labels["kind"] for labels, _ in scrape.series("epics_ioc_info", ioc="behind")} == {"base"}
    assert gateways(scrape) == [], "it has no clients"
    status, _, page = exporter.request("/")
    assert status == 200 and "a CA gateway" in page.decode()

    through, direct = raw_client(gateway, "ann", "console1"), raw_client(ioc, "bob", "console2")
    put_times(through, "G:set1", 211)
    put_times(direct, "G:set1", 101)
    assert ioc.get("G:set1:count.VAL") == 312
    scrape = exporter.scrape()
    assert gateways(scrape) == [("behind", FORWARDER)], "not the client of its own, nor the direct one"
    assert scrape.count(PUTS, ioc="gateway", pv="G:set1", client=clients.LOOPBACK, user="ann") == 211
    assert scrape.count(PUTS, ioc="behind", pv="G:set1", client=FORWARDER) == 211
    assert scrape.count(PUTS, ioc="behind", pv="G:set1", client=clients.LOOPBACK, user="bob") == 101
    assert scrape.total(PUTS) == 523
    assert of_site(scrape) == 312

    through.kill()
    gateway.kill()
    scrape = exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc="gateway") == 0, "it is gone")
    assert gateways(scrape) == [("behind", FORWARDER)], "as long as its puts are shown"
    assert of_site(scrape) == 312


def test_gateways_that_the_site_lists(start_ioc, start_exporter, started, raw_client, log_dir, tmp_path):
    """By network, by address, and by the name that a client gives its host; a reload changes them."""
    ioc = start_ioc("listed", databases.put_targets("L:", 1))
    # Passes on from another address; not one that is found here, since it is not followed.
    elsewhere = started.add(Gateway("elsewhere", ioc, log_dir, "127.7.0.1"))
    site = tmp_path / "site.yml"
    site.write_text("gateways: [127.7.0.0/16, '2001:db8::7']\n")
    exporter = start_exporter("--ioc.include=listed", f"--config.file={site}", "--web.enable-lifecycle",
                              "--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    put_times(raw_client(elsewhere, "ann", "console1"), "L:set1", 23)
    put_times(raw_client(ioc, "gateway", "gw1.site.org"), "L:set1", 29)
    scrape = exporter.scrape()
    assert gateways(scrape) == [("listed", "127.7.0.1")]
    assert of_site(scrape) == 29

    site.write_text("gateways: gw1.site.org\n")
    assert exporter.request("/-/reload", "POST")[0] == 200
    scrape = exporter.scrape()
    assert gateways(scrape) == [("listed", clients.LOOPBACK)]
    assert of_site(scrape) == 23
