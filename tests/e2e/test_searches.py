"""Names that clients search by UDP, and servers that their beacons tell before their IOC is found."""
import pytest

from harness import clients, databases
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--collector.searches"]

SEARCHES = "epics_search_requests_total"
BEACONS = "epics_ca_beacons_total"


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("searched", databases.put_targets("Q:", 3))


# libca asks again within fractions of a second, caproto after seconds.
@pytest.mark.parametrize("client, searches", [(clients.pyepics, 5), (clients.caproto, 2)])
def test_names_that_nobody_has_are_searched_on(client, searches, ioc, start_exporter, started, log_dir):
    """The clients' own search, with their own timing."""
    exporter = start_exporter("--ioc.include=searched", sees=[ioc])
    before = exporter.scrape().count(SEARCHES, client=clients.LOOPBACK)
    started.add(client(log_dir, [ioc.port], [f"NOBODY:HAS:{client.__name__}"], 1))
    exporter.wait_scrape(lambda s: s.count(SEARCHES, client=clients.LOOPBACK) >= before + searches,
                         "a client searches in vain", timeout=60)


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
