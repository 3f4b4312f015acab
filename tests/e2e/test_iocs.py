"""IOCs come and go: found, told apart, and gone in time; the others' counts stay exact."""
import re

from harness import clients, databases
from harness.scrape import PROCESSED, PUTS
from harness.waiting import wait_until

COUNT = 23
UP = "epics_ioc_up"


TARGETS = databases.put_targets("T:", 1) + databases.counter("T")


def process_and_check(exporter, ioc, record, label=None, times=COUNT):
    """`times` more processings of `record` are exactly so many more on /metrics."""
    labels = {"ioc": label or ioc.name, "record": record}
    before, true_before = exporter.scrape().count(PROCESSED, **labels), ioc.get(f"{record}.VAL")
    ioc.process_once(record, times)
    assert ioc.get(f"{record}.VAL") - true_before == times
    assert exporter.scrape().count(PROCESSED, **labels) - before == times


def test_two_iocs_of_one_name(start_ioc, start_exporter):
    """Equal names are made unique; the records of the two, named alike, are not mixed up."""
    first = start_ioc("same", databases.counter("S"))
    second = start_ioc("same", databases.counter("S"))
    exporter = start_exporter(sees=[first, second])
    scrape = exporter.scrape()
    labels = {ioc.pid: scrape.ioc_of_pid(ioc.pid) for ioc in (first, second)}
    assert len(set(labels.values())) == 2
    for pid, label in labels.items():
        assert label == "same" or re.fullmatch(rf"same\W{pid}", label), label
    first.process_once("S:n", 11)
    second.process_once("S:n", 7)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc=labels[first.pid], record="S:n") == 11
    assert scrape.count(PROCESSED, ioc=labels[second.pid], record="S:n") == 7


def test_the_name_of_an_ioc_that_ended_late(start_ioc, start_exporter, connect):
    """Started before its former self has ended, it gets its name then: nothing is down, and nothing is counted twice."""
    def cpu(scrape, name):
        return sum(value for _, value in scrape.series("epics_ioc_cpu_seconds_total", ioc=name))

    old = start_ioc("twin", TARGETS)
    exporter = start_exporter("--server-probe", sees=[old])
    process_and_check(exporter, old, "T:n", times=11)
    exporter.wait_put_source(old, "server")
    connect(clients.libca, [old], ["T:set1"], 5).send()
    new = start_ioc("twin", TARGETS, spin=True)
    apart = f"twin-{new.pid}"
    exporter.wait_scrape(lambda s: s.series("epics_ioc_records", ioc=apart) and s.value(
        "epics_ioc_put_source", ioc=apart, protocol="ca", source="server") == 1 and cpu(s, apart) > 3, "both run")
    process_and_check(exporter, new, "T:n", apart, times=13)
    stays = connect(clients.libca, [new], ["T:set1"], 4)
    connect(clients.libca, [new], ["T:set1"], 7).send()
    before = exporter.wait_scrape(lambda s: s.total(PUTS, ioc=apart) == 7, "the puts to both are told apart")
    old.kill()
    scrape = exporter.wait_scrape(lambda s: s.ioc_of_pid(new.pid) == "twin", "it has the name")
    assert scrape.series(UP, ioc=apart) == [] and scrape.series("epics_ioc_name_contested") == []
    assert scrape.value(UP, ioc="twin") == 1
    assert scrape.value("epics_ioc_restarts_total", ioc="twin") == 1
    used = scrape.value("epics_ioc_process_cpu_seconds_total", ioc="twin")
    assert cpu(before, apart) + cpu(scrape, "twin") < used + 1, "what was told by the other name is not told again"
    assert scrape.count(PROCESSED, ioc="twin", record="T:n") == 0
    assert scrape.total(PUTS, ioc="twin") == 5 and scrape.total(PUTS, ioc=apart) == 7
    exporter.wait_scrape(lambda s: s.series(PROCESSED, ioc="twin"), "its records are counted")
    process_and_check(exporter, new, "T:n", "twin", times=17)
    exporter.wait_put_source(new, "server")
    connect(clients.libca, [new], ["T:set1"], 3).send()
    stays.send()
    scrape = exporter.wait_scrape(lambda s: s.total(PUTS, ioc="twin") == 12, "its puts by that name")
    assert scrape.total(PUTS, ioc=apart) == 7


def test_killed_ioc_goes_down_and_the_other_stays_exact(start_ioc, start_exporter):
    victim = start_ioc("victim", databases.counting(), macros="P=V:")
    other = start_ioc("survivor", databases.counter("S"))
    exporter = start_exporter(sees=[victim, other])
    other.process_once("S:n", 11)
    victim.kill()
    other.process_once("S:n", 7)
    scrape = exporter.wait_scrape(lambda s: s.value(UP, ioc="victim") == 0, "up of victim is 0")
    assert scrape.value(UP, ioc="survivor") == 1
    assert scrape.series(PROCESSED, ioc="victim") == []
    assert scrape.count(PROCESSED, ioc="survivor", record="S:n") == 18
    process_and_check(exporter, other, "S:n")


def test_ioc_survives_the_end_of_the_exporter(start_ioc, start_exporter):
    """However the exporter ends, the IOC goes on, and the next exporter counts it exactly."""
    ioc = start_ioc("undisturbed", databases.counting(), macros="P=U:")
    for end in ("terminate", "kill"):
        exporter = start_exporter(sees=[ioc])
        getattr(exporter.process, end)()
        value = ioc.get("U:scan.VAL")
        wait_until(lambda: ioc.get("U:scan.VAL") > value + 5, "the IOC scans on")
    exporter = start_exporter(sees=[ioc])
    process_and_check(exporter, ioc, "U:trigger", times=7)
