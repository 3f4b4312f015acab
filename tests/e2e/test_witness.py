"""The IOC's own server says which puts it was asked for: from the middle on, and with pauses, no put is lost or twice."""
import os
import signal
import threading

import pytest
from harness import databases
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
WITNESSED = "ioc_exporter_ioc_puts_witnessed"
DISAGREE = "ioc_exporter_ca_puts_disagree_total"


class Writer:
    """Writes without a pause until it is told to stop."""

    def __init__(self, client, channel):
        self.client, self.channel = client, channel
        self.sent = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.is_set():
            for _ in range(50):
                self.client.write(self.channel, self.sent)
                self.sent += 1

    def wait_for_more(self, count: int) -> None:
        goal = self.sent + count
        wait_until(lambda: self.sent >= goal, f"{count} more puts", 60)

    def stop(self) -> int:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.client.get(self.channel)
        return self.sent


def targets(prefix: str) -> str:
    return databases.put_targets(prefix, 2)


def heard(exporter, ioc, is_heard: int = 1):
    return exporter.wait_scrape(lambda page: page.value(WITNESSED, ioc=ioc.name) == is_heard,
                                f"{ioc.name}'s server is{'' if is_heard else ' not'} heard")


def check(exporter, ioc, pv: str, count: int) -> None:
    assert ioc.get(f"{pv}:count.VAL") == count
    page = exporter.wait_scrape(lambda page: page.total(PUTS, ioc=ioc.name) == count, f"{count} puts")
    assert page.total(PUTS, ioc=ioc.name, pv=pv) == count
    assert page.series(DISAGREE, ioc=ioc.name) == []


def test_an_ioc_that_is_found_while_clients_write(start_exporter, start_ioc, raw_client):
    exporter = start_exporter("--ioc.include=found-late")
    ioc = start_ioc("found-late", targets("F:"))
    client = raw_client(ioc)
    writer = Writer(client, client.create("F:set1"))
    heard(exporter, ioc)
    writer.wait_for_more(5000)
    check(exporter, ioc, "F:set1", writer.stop())
    # Quiet by now, or soon: the server's word takes over.
    other = raw_client(ioc, "other")
    second = Writer(other, other.create("F:set2"))
    second.wait_for_more(5000)
    count = second.stop()
    assert exporter.scrape().total(PUTS, ioc=ioc.name, pv="F:set2") == count


def test_an_ioc_that_is_stopped_while_clients_write(start_exporter, start_ioc, raw_client):
    ioc = start_ioc("held", targets("S:"))
    exporter = start_exporter(sees=[ioc])
    heard(exporter, ioc)
    client = raw_client(ioc)
    writer = Writer(client, client.create("S:set1"))
    writer.wait_for_more(1000)
    os.kill(ioc.pid, signal.SIGSTOP)
    try:
        heard(exporter, ioc, 0)
    finally:
        os.kill(ioc.pid, signal.SIGCONT)
    heard(exporter, ioc)
    writer.wait_for_more(5000)
    check(exporter, ioc, "S:set1", writer.stop())


def test_more_than_the_budget(start_exporter, start_ioc, raw_client):
    """The tap takes over, and the page says so."""
    ioc = start_ioc("costly", targets("B:"))
    exporter = start_exporter("--overhead.budget=0.01", sees=[ioc])
    heard(exporter, ioc)
    client = raw_client(ioc)
    writer = Writer(client, client.create("B:set1"))
    heard(exporter, ioc, 0)
    writer.wait_for_more(1000)
    check(exporter, ioc, "B:set1", writer.stop())
    _, _, page = exporter.request("/")
    assert b"its probes would cost it more than --overhead.budget" in page


@pytest.mark.parametrize("option", ["--no-ca.witness"])
def test_without_it(start_exporter, start_ioc, raw_client, option):
    ioc = start_ioc("unheard", targets("N:"))
    exporter = start_exporter(option, sees=[ioc])
    client = raw_client(ioc)
    channel = client.create("N:set1")
    for i in range(23):
        client.write(channel, i)
    client.get(channel)
    page = exporter.scrape()
    assert page.total(PUTS, ioc=ioc.name, pv="N:set1") == 23
    assert page.series(WITNESSED) == []
    assert page.series("ioc_exporter_probe_loaded", probe="ca_witness") == []
