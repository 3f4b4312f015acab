"""An exporter that starts in the middle of arrays whose bytes are puts: nothing of it is invented."""
import itertools
import threading
import time

import pytest

from harness import databases
from harness.put_log import PutLog
from harness.scrape import PUTS
from harness.wire import WRITE, Wire, long_message, write

EXPORTER_OPTIONS = ["--no-collector.records"]
CHAR = 4
HIDDEN = 2000  # puts that the array looks like, of 24 bytes
POLICY = "policy: {rules: [{name: hands off, action: forbid, pvs: 'T:set2'}]}\n"


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("late_start", databases.put_targets("T:", 2).replace("100000", "60000"))


def puts(page, ioc) -> dict[str, int]:
    sums: dict[str, int] = {}
    for labels, count in page.series(PUTS, ioc=ioc.name, user="late"):
        sums[labels["pv"]] = sums.get(labels["pv"], 0) + int(count)
    return sums


class Trickle:
    """Sends the message again and again, a little each time; the last one to its end."""

    def __init__(self, wire: Wire, message: bytes):
        self.sent = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(wire, message), daemon=True)
        self._thread.start()

    def _run(self, wire: Wire, message: bytes) -> None:
        while not self._stop.is_set():
            for at in itertools.count(0, 1200):
                if at >= len(message):
                    break
                wire.send(message[at:at + 1200])
                time.sleep(0.002)
            self.sent += 1

    def stop(self) -> int:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.sent


def test_arrays_on_their_way_while_it_starts(ioc, started, start_exporter, log_dir):
    """Nobody counts puts to a server that will be probed until it is: no put is forbidden that never was."""
    wire = started.add(Wire(ioc.port)).introduce("late")
    first, second, array = wire.open("T:set1", "T:set2", "T:array1")
    before = ioc.get_all(["T:set2:count.VAL", "T:array1:count.VAL"])
    inside = write(second) * HIDDEN + write(second)[:8]  # it ends in the middle of one
    trickle = Trickle(wire, long_message(WRITE, CHAR, len(inside), array, 0, inside))
    put_log = PutLog(log_dir / "puts.json")
    (log_dir / "site.yml").write_text(POLICY)
    exporter = start_exporter(f"--config.file={log_dir}/site.yml", *put_log.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    sent = trickle.stop()
    wire.send(write(first) * 101).settle(first)
    done = {name: ioc.get(name) - value for name, value in before.items()}
    assert done == {"T:set2:count.VAL": 0, "T:array1:count.VAL": sent}
    page = exporter.wait_scrape(lambda page: puts(page, ioc).get("T:set1") == 101, "what came after the arrays")
    assert "T:set2" not in puts(page, ioc)
    assert page.series("epics_unexpected_puts_total", ioc=ioc.name, pv="T:set2") == []
    put_log.wait(101, pv="T:set1")
    assert put_log.puts(pv="T:set2") == []
    wire.send(write(second) * 23).settle(second)
    page = exporter.wait_scrape(lambda page: puts(page, ioc).get("T:set2", 0) >= 23, "the next puts")
    assert (puts(page, ioc)["T:set1"], puts(page, ioc)["T:set2"]) == (101, 23)
