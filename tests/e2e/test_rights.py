"""The server probe does not need packets: what works without the right to read them, and what --check says."""
import re

import pytest

from harness import databases
from harness.exporter import run_exporter
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]
LOADED = "ioc_exporter_probe_loaded"
WITHOUT_PACKETS = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("rights", databases.put_targets("R:", 1))


@pytest.mark.parametrize("packets", [True, False], ids=["with packets", "without packets"])
def test_puts(ioc, start_exporter, raw_client, packets):
    exporter = start_exporter("--ioc.include=rights", sees=[ioc], prefix=[] if packets else WITHOUT_PACKETS)
    exporter.wait_scrape(lambda page: page.put_source(ioc) == "server", "the server tells of puts")
    client = raw_client(ioc, "with" if packets else "without")
    channel = client.create("R:set1")
    for i in range(23):
        client.write(channel, i)
    for i in range(11):
        client.write_notify(channel, i)
    client.get(channel)
    page = exporter.scrape()
    counted = {labels["op"]: value for labels, value in page.series(PUTS, ioc=ioc.name, user=client.user)}
    assert counted == {"write": 23, "write_notify": 11}
    assert all(labels["pv"] == "R:set1" for labels, _ in page.series(PUTS, ioc=ioc.name, user=client.user))
    assert page.value(LOADED, probe="ca_tap") == (1 if packets else 0)
    assert bool(page.series("epics_circuits", ioc=ioc.name)) == packets


def test_check_says_what_is_missing(ioc):
    said = run_exporter("--check", "--ioc.include=rights", prefix=WITHOUT_PACKETS).stdout
    assert re.search("ca_tap +missing: open packet socket", said), said
    assert re.search("ca_udp +missing: it needs ca_tap", said), said
