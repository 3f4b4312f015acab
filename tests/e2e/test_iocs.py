"""IOCs come and go: found, told apart, and gone in time; the others' counts stay exact."""
import re
import shutil

from harness import clients, databases
from harness.ioc import Ioc, copy_of_libraries
from harness.scrape import PROCESSED, PUTS
from harness.waiting import wait_until

COUNT = 23
UP = "epics_ioc_up"


def database(prefix):
    return f'record(calc,"{prefix}:n"){{field(CALC,"VAL+1")}}\n'


TARGETS = databases.put_targets("T:", 1) + database("T")


def process_and_check(exporter, ioc, record, label=None, times=COUNT):
    """`times` more processings of `record` are exactly so many more on /metrics."""
    labels = {"ioc": label or ioc.name, "record": record}
    before, true_before = exporter.scrape().count(PROCESSED, **labels), ioc.get(f"{record}.VAL")
    ioc.process_once(record, times)
    assert ioc.get(f"{record}.VAL") - true_before == times
    assert exporter.scrape().count(PROCESSED, **labels) - before == times


def test_two_iocs(start_ioc, start_exporter):
    one = start_ioc("one", database("A"))
    two = start_ioc("two", database("B"), base="7.0.4")
    exporter = start_exporter(sees=[one, two])
    one.process_once("A:n", 11)
    two.process_once("B:n", 7)
    scrape = exporter.scrape()
    counted = {(labels["ioc"], labels["record"]): value
               for ioc in (one, two) for labels, value in scrape.series(PROCESSED, ioc=ioc.name)}
    assert counted == {("one", "A:n"): 11, ("two", "B:n"): 7}


def test_two_iocs_of_one_name(start_ioc, start_exporter):
    """Equal names are made unique; the records of the two, named alike, are not mixed up."""
    first = start_ioc("same", database("S"))
    second = start_ioc("same", database("S"))
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


def test_two_iocs_in_one_library_one_ends(start_ioc, start_exporter):
    """Attachments of the library are shared or change when an IOC leaves: the other counts on."""
    iocs = [start_ioc(f"shared-{i}", database(f"I{i}")) for i in range(4)]
    exporter = start_exporter(sees=iocs)
    for i, ioc in enumerate(iocs):
        process_and_check(exporter, ioc, f"I{i}:n")
    iocs[1].kill()
    exporter.wait_scrape(lambda s: s.value(UP, ioc="shared-1") == 0, "up of the killed IOC is 0")
    for i in (0, 2, 3):
        process_and_check(exporter, iocs[i], f"I{i}:n")


def test_ioc_started_after_the_exporter(start_exporter, start_ioc):
    exporter = start_exporter("--ioc.include=latecomer")
    ioc = start_ioc("latecomer", database("L"))
    exporter.wait_up(ioc)
    process_and_check(exporter, ioc, "L:n")


def test_library_loaded_long_after_exec(start_exporter, start_ioc, started, log_dir):
    """A Python process becomes an IOC only when it loads the libraries."""
    ioc = started.add(Ioc("became-ioc", database("L"), log_dir, late=True))
    ioc.process.wait_for("^@waiting$")
    exporter = start_exporter("--ioc.include=became-ioc|witness")
    # Seen at least once as an ordinary process, by a discovery that runs every second.
    other = start_ioc("witness", database("W"))
    exporter.wait_up(other)
    assert exporter.scrape().ioc_of_pid(ioc.pid) is None
    ioc.wait_running()
    exporter.wait_up(ioc)
    process_and_check(exporter, ioc, "L:n")


def test_killed_ioc_goes_down_and_the_other_stays_exact(start_ioc, start_exporter):
    victim = start_ioc("victim", databases.counting(), macros="P=V:")
    other = start_ioc("survivor", database("S"))
    exporter = start_exporter(sees=[victim, other])
    other.process_once("S:n", 11)
    victim.kill()
    other.process_once("S:n", 7)
    scrape = exporter.wait_scrape(lambda s: s.value(UP, ioc="victim") == 0, "up of victim is 0")
    assert scrape.value(UP, ioc="survivor") == 1
    assert scrape.series(PROCESSED, ioc="victim") == []
    assert scrape.count(PROCESSED, ioc="survivor", record="S:n") == 18
    process_and_check(exporter, other, "S:n")


def test_restarted_ioc_is_up_again(start_ioc, start_exporter):
    first = start_ioc("phoenix", database("R"))
    exporter = start_exporter(sees=[first])
    process_and_check(exporter, first, "R:n", times=11)
    first.kill()
    gone = exporter.wait_scrape(lambda s: s.value(UP, ioc="phoenix") == 0, "up of phoenix is 0")
    assert gone.value("epics_ioc_restarts_total", ioc="phoenix") == 0
    assert gone.series("epics_ioc_threads", ioc="phoenix") == []
    second = start_ioc("phoenix", database("R"), port=first.port)
    scrape = exporter.wait_up(second)
    assert scrape.ioc_of_pid(second.pid) == "phoenix"
    assert scrape.value("epics_ioc_restarts_total", ioc="phoenix") == 1
    assert [value for _, value in scrape.series(UP, ioc="phoenix")] == [1]
    second.process_once("R:n", 7)
    assert exporter.scrape().count(PROCESSED, ioc="phoenix", record="R:n") == 7


def test_include_and_exclude(start_ioc, start_exporter):
    iocs = {name: start_ioc(name, database(name)) for name in ("ps-north", "ps-south", "vacuum")}
    exporter = start_exporter("--ioc.include=^ps-.*", "--ioc.exclude=.*south$",
                              sees=[iocs["ps-north"]])
    for name, ioc in iocs.items():
        ioc.process_once(f"{name}:n", COUNT)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc="ps-north", record="ps-north:n") == COUNT
    for name in ("ps-south", "vacuum"):
        assert scrape.series(PROCESSED, ioc=name) == []
        assert scrape.value(UP, ioc=name) is None


def test_library_deleted_under_a_running_ioc(start_ioc, start_exporter, log_dir):
    """As after an upgrade of the package: the file has gone, the mapping has not."""
    libraries = copy_of_libraries("7.0.4", log_dir / "lib")
    ioc = start_ioc("upgraded", database("U"), base="7.0.4", lib_dir=libraries)
    with open(f"/proc/{ioc.pid}/maps") as maps:
        assert str(libraries) in maps.read()
    shutil.rmtree(libraries)
    exporter = start_exporter(sees=[ioc])
    process_and_check(exporter, ioc, "U:n")


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
