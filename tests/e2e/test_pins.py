"""What the exporter keeps in a bpffs outlives it: the names of channels of servers that have no tables to read."""
from harness.caproto_server import CaprotoServer
from harness.named_client import NamedClient
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]

PVS = ["K:one", "K:two"]


def puts(scrape):
    return {(labels["pv"], labels["user"], labels["client_host"]): value
            for labels, value in scrape.series(PUTS, ioc="pinned")}


def test_channel_names_outlive_the_exporter(started, log_dir, start_exporter, bpffs):
    server = started.add(CaprotoServer(log_dir, PVS, name="pinned")).wait_running()
    options = ["--ioc.include=pinned", f"--ca.server-port={server.port}",
               f"--state.pin={bpffs}/exporter"]
    first = start_exporter(*options)
    first.scrape()
    client = started.add(NamedClient(server.port, "operator", "console")).open(*PVS)
    for pv in PVS:
        client.put(pv, 7)
    client.wait_done()
    assert puts(first.scrape()) == {(pv, "operator", "console"): 7 for pv in PVS}
    assert first.stop() == 0

    client.put(PVS[0], 5)  # nobody looks
    client.wait_done()

    second = start_exporter(*options)
    second.scrape()
    client.put(PVS[0], 11)
    client.put(PVS[1], 13)
    client.wait_done()
    assert puts(second.scrape()) == {(PVS[0], "operator", "console"): 11,
                                     (PVS[1], "operator", "console"): 13}
    assert server.counts(43) == {PVS[0]: 23, PVS[1]: 20}
