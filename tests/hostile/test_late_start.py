"""An exporter that starts in the middle of an array whose bytes are puts: nothing of it is invented."""
import pytest

from harness import databases
from harness.scrape import PUTS
from harness.wire import WRITE, Wire, long_message, write

EXPORTER_OPTIONS = ["--no-collector.records"]
CHAR = 4
HIDDEN = 2000  # puts that the array looks like, of 24 bytes


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("late_start", databases.put_targets("T:", 2).replace("100000", "60000"))


def puts(page, ioc) -> dict[str, int]:
    sums: dict[str, int] = {}
    for labels, count in page.series(PUTS, ioc=ioc.name, user="late"):
        sums[labels["pv"]] = sums.get(labels["pv"], 0) + int(count)
    return sums


@pytest.mark.parametrize("odd", [0, 8, 16], ids=lambda odd: f"ends-{odd}-bytes-behind")
def test_in_the_middle_of_an_array_that_looks_like_puts(ioc, started, start_exporter, odd):
    """The array ends where a put of it does, or in the middle of one."""
    before = ioc.get_all(["T:set1:count.VAL", "T:set2:count.VAL", "T:array1:count.VAL"])
    wire = started.add(Wire(ioc.port)).introduce("late")
    first, second, array = wire.open("T:set1", "T:set2", "T:array1")
    wire.send(write(first) * 5).settle(first)
    inside = write(second) * HIDDEN + write(second)[:odd]
    message = long_message(WRITE, CHAR, len(inside), array, 0, inside)
    half = len(message) - len(inside) + 24 * (HIDDEN // 2)
    wire.send(message[:half])
    exporter = start_exporter("--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    wire.send(message[half:])
    wire.send(write(first) * 101).settle(first)
    done = {name: ioc.get(name) - value for name, value in before.items()}
    assert done == {"T:set1:count.VAL": 106, "T:set2:count.VAL": 0, "T:array1:count.VAL": 1}
    page = exporter.wait_scrape(lambda page: puts(page, ioc).get("T:set1") == 101, "what came after the array")
    assert puts(page, ioc) == {"T:set1": 101, "T:array1": 1}
    wire.send(write(second) * 23).settle(second)
    page = exporter.wait_scrape(lambda page: puts(page, ioc).get("T:set2", 0) >= 23, "the next puts")
    assert puts(page, ioc) == {"T:set1": 101, "T:array1": 1, "T:set2": 23}
