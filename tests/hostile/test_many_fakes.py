"""More IOCs than there are places, and IOCs that take another one's name: the real ones stay, and stay exact."""
import pytest

from harness import databases, env
from harness.ioc import Ioc
from harness.process import Process
from harness.scrape import PROCESSED

MALLORY, ALICE = 64001, 64002  # nobody's on a usual host
PLACES = 1024
INFO = "epics_ioc_info"
CONTESTED = "epics_ioc_name_contested"
LEFT_OUT = "ioc_exporter_iocs_left_out"
# Files of the tests may be where another user cannot read them.
AS_ALICE = ["setpriv", f"--reuid={ALICE}", "--clear-groups", "--inh-caps=+dac_read_search,+dac_override",
            "--ambient-caps=+dac_read_search,+dac_override"]


@pytest.fixture
def static_ioc():
    """A program with a database of its own in its memory."""
    return env.for_any_user(env.tool("static_ioc"))


@pytest.fixture
def start_fakes(started, static_ioc, log_dir):
    def start(count: int, name: str, user: int = MALLORY) -> Process:
        script = env.for_any_user(env.E2E_DIR.parent / "hostile" / "many_fakes.py")
        fakes = started.add(Process(f"fakes-{name}", ["/usr/bin/python3", script, static_ioc, count, name], log_dir,
                                    user=user))
        fakes.wait_for("^@ready$", timeout=60)
        return fakes

    return start


class Small:
    """One such process that counts what it does."""

    def __init__(self, program, name, user, log_dir):
        self.name = name
        self.process = Process(name, [program, f"{name}:n"], log_dir, {"IOCNAME": name}, user=user)
        self.process.wait_for("^@running")

    def work(self, times: int) -> None:
        done = self.process.stdout().count("@done") + 1
        self.process.send_line(f"{self.name}:n {times}")
        self.process.wait_for(f"(?s)(@done.*){{{done}}}")


@pytest.fixture
def start_small(started, static_ioc, log_dir):
    return lambda name, user: started.add(Small(static_ioc, name, user, log_dir))


@pytest.fixture
def start_alices(started, log_dir):
    def start(name: str) -> Ioc:
        return started.add(Ioc(name, databases.counter(name), log_dir, prefix=AS_ALICE)).wait_running()

    return start


def processed(exporter, ioc: str, record: str) -> int:
    return exporter.scrape().count(PROCESSED, ioc=ioc, record=record)


def test_a_real_ioc_beside_1024_fakes(start_fakes, start_alices, start_exporter):
    """One that was there before stays; one that comes when all places are taken gets one when they are free."""
    before = start_alices("before-fakes")
    exporter = start_exporter("--ioc.include=fake[0-9]+|(before|after)-fakes", sees=[before])
    before.process_once("before-fakes:n", 23)
    fakes = start_fakes(PLACES + 20, "fake")
    exporter.wait_scrape(lambda s: len(s.series(INFO)) >= PLACES and len(s.series("epics_ioc_records")) >= PLACES,
                         "all places are taken", 120)
    after = start_alices("after-fakes")
    exporter.wait_scrape(lambda s: s.value(LEFT_OUT) == 22, "all are counted", 60)
    before.process_once("before-fakes:n", 7)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc="before-fakes", record="before-fakes:n") == 30
    assert len(scrape.series(INFO)) == PLACES
    assert "not followed" in exporter.request("/")[2].decode()
    fakes.kill()
    exporter.wait_up(after, 60)
    after.process_once("after-fakes:n", 23)
    assert processed(exporter, "after-fakes", "after-fakes:n") == 23


def test_a_name_that_another_user_has(start_small, start_exporter):
    """While it runs, and while it restarts."""
    real = start_small("vac1", ALICE)
    exporter = start_exporter("--ioc.include=vac1", sees=[])
    exporter.wait_scrape(lambda s: s.series("epics_ioc_records", ioc="vac1"), "the real one is found")
    real.work(23)
    fake = start_small("vac1", MALLORY)
    other = f"vac1-{MALLORY}"
    exporter.wait_scrape(lambda s: s.series("epics_ioc_records", ioc=other), "the other one is told apart")
    fake.work(1000)
    real.work(7)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc="vac1", record="vac1:n") == 30
    assert scrape.count(PROCESSED, ioc=other, record="vac1:n") == 1000
    assert scrape.series(CONTESTED) == [({"ioc": other, "user": str(MALLORY), "claimed_name": "vac1",
                                          "claimed_from": str(ALICE)}, 1)]

    fake.process.kill()
    real.process.kill()
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc="vac1") == 0
                         and s.value("epics_ioc_up", ioc=other) == 0, "both are gone")
    fake = start_small("vac1", MALLORY)
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc=other) == 1, "it does not continue the real one")
    fake.work(500)
    assert exporter.scrape().value("epics_ioc_up", ioc="vac1") == 0
    real = start_small("vac1", ALICE)
    exporter.wait_scrape(lambda s: s.series("epics_ioc_records", ioc="vac1"), "the real one is back")
    real.work(11)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc="vac1", record="vac1:n") == 11
    assert scrape.value("epics_ioc_restarts_total", ioc="vac1") == 1
    assert [labels["ioc"] for labels, _ in scrape.series(CONTESTED)] == [other]
