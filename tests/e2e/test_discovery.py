"""IOCs in the forms that hosts have them: each found, and every processing counted."""
import os
import random
import shutil
import subprocess
import time

import pytest

from harness import clients, databases, env
from harness.ioc import Ioc, copy_of_libraries, stripped_libraries
from harness.scrape import PROCESSED, PUTS

COUNT = 23
UP = "epics_ioc_up"
ATTACHMENTS = "ioc_exporter_probe_attachments"


def process_and_check(exporter, ioc, record, label, times=COUNT):
    before = exporter.scrape().count(PROCESSED, ioc=label, record=record)
    ioc.process_once(record, times)
    assert ioc.get(f"{record}.VAL") == before + times
    assert exporter.scrape().count(PROCESSED, ioc=label, record=record) == before + times


def held(scrape):
    """Attachments, and room for records, that the record probes have."""
    return (scrape.count(ATTACHMENTS, probe="record_process"),
            scrape.total("ioc_exporter_map_capacity", map="ioc_records"))


def held_in_kernel(exporter):
    """The same, not while it looks for a second for processings without dbProcess."""
    scrapes = []
    for _ in range(6):
        scrapes.append(held(exporter.scrape()))
        time.sleep(0.5)
    return min(scrapes)


@pytest.mark.outer_bases
def test_stripped_container(started, start_exporter, log_dir, base):
    """As images of epics-containers are: every library is stripped. The name, records and puts are exact."""
    inside = log_dir / "inside"
    inside.mkdir()
    libraries = stripped_libraries(base, log_dir / "lib")
    name = "stripbox" + base.replace(".", "")
    script = (f"mount -t tmpfs none {inside} && cp {libraries}/* $4 {inside} && "
              f"mv {inside}/{'*'}.db {inside}/{name}.db && ip link set lo up && unset IOCNAME && "
              f'exec "$1" "$2" "$3" {inside}/{name}.db')
    prefix = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", script, "sh"]
    ioc = started.add(Ioc(name, databases.put_targets("Z:", 1), log_dir, base=base, lib_dir=inside, prefix=prefix,
                          child=True)).wait_running()
    exporter = start_exporter(f"--ioc.include={name}", "--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    records = {labels["record_type"]: int(value) for labels, value in exporter.scrape().series("epics_ioc_records", ioc=name)}
    assert records == {"ao": 1, "stringout": 1, "waveform": 1, "calc": 3}
    client = started.add(clients.libca(log_dir, [ioc.port], ["Z:set1"], 997, prefix=["nsenter", f"--target={ioc.pid}", "--net"]))
    assert client.wait_connected().send() == 997
    scrape = exporter.wait_scrape(lambda s: s.total(PUTS, ioc=name) >= 997, "all puts")
    assert scrape.total(PUTS, ioc=name) == scrape.total(PUTS, ioc=name, pv="Z:set1") == 997
    assert ioc.get("Z:set1:count.VAL") == 997
    assert scrape.count(PROCESSED, ioc=name, record="Z:set1") == scrape.count(PROCESSED, ioc=name, record="Z:set1:count") == 997
    process_and_check(exporter, ioc, "Z:array1:count", name)


def test_library_replaced_under_a_running_ioc(start_ioc, start_exporter, log_dir):
    """Another file stands under the library's name: one IOC runs the old one, one the new one."""
    libraries = copy_of_libraries("7.0.7", log_dir / "lib")
    old = start_ioc("old", databases.counter("O"), base="7.0.7", lib_dir=libraries)
    for library in libraries.iterdir():
        copy = library.with_name("new")
        shutil.copy2(library, copy)
        copy.replace(library)
    new = start_ioc("new", databases.counter("N"), base="7.0.7", lib_dir=libraries)
    exporter = start_exporter("--ioc.include=old|new", sees=[old, new])
    process_and_check(exporter, old, "O:n", "old")
    process_and_check(exporter, new, "N:n", "new", times=11)
    assert exporter.scrape().count(PROCESSED, ioc="old", record="O:n") == COUNT
    assert f"{old.process.name} (pid {old.pid}) in {libraries}" in exporter.process.stderr()
    assert exporter.process.stderr().count("(deleted on disk)") == 1


def test_pid_given_out_again(start_ioc, start_exporter, started, log_dir):
    first = start_ioc("first", databases.counter("F"), base="7.0.7")
    exporter = start_exporter("--ioc.include=first|second", "--discovery.interval=3s", sees=[first])
    process_and_check(exporter, first, "F:n", "first", times=11)
    pid, before = first.pid, held_in_kernel(exporter)
    first.kill()
    second = Ioc("second", databases.counter("S"), log_dir, base="7.0.7", child=True,
                 prefix=[str(env.tool("run_as_pid")), str(pid)])
    started.add(second)
    if second.process.popen.poll() == 77:
        pytest.skip(second.process.stderr())
    second.wait_running()
    assert second.pid == pid
    scrape = exporter.wait_up(second)
    assert scrape.ioc_of_pid(pid) == "second"
    assert scrape.value(UP, ioc="first") == 0 and scrape.series(PROCESSED, ioc="first") == []
    process_and_check(exporter, second, "S:n", "second")
    assert held_in_kernel(exporter) == before


STORM = 40


def test_storm_of_starts_and_ends(start_ioc, start_exporter, log_dir):
    """IOCs that end at any moment of their start, several at once: the one that stays is exact, and of
    the others nothing is left behind."""
    stays = start_ioc("stays", databases.counter("S"), base="7.0.7")
    exporter = start_exporter("--ioc.include=stays|storm.*", "--ioc.keep-gone=1s", sees=[stays])
    stays.process_once("S:n", 11)
    before = held_in_kernel(exporter)
    random.seed(7)
    running: list[subprocess.Popen] = []
    for i in range(STORM):
        running.append(subprocess.Popen(
            [env.tool("ioc_launcher_7.0.7"), env.base_dir("7.0.7") / "dbd", "",
             next(log_dir.glob("stays-*.db"))],
            env={**os.environ, "IOCNAME": f"storm{i % 5}", "EPICS_CA_SERVER_PORT": str(stays.port)},
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        stays.process_once("S:n")
        if len(running) == 4:
            victim = running.pop(random.randrange(4))
            victim.kill()
            victim.communicate()
    for process in running:
        process.kill()
        process.communicate()
    stays.process_once("S:n", 7)
    exporter.wait_scrape(lambda s: len(s.series(UP)) == 1, "the storm is forgotten")
    assert stays.get("S:n.VAL") == STORM + 18
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc="stays", record="S:n") == STORM + 18
    assert held_in_kernel(exporter) == before
    assert scrape.total("ioc_exporter_dropped_total", probe="record_process") == 0


def test_gone_is_down_then_forgotten_and_all_of_it_freed(start_ioc, start_exporter):
    ioc = start_ioc("leaves", databases.counter("L"), base="7.0.7")
    exporter = start_exporter("--ioc.include=leaves", "--ioc.keep-gone=2s", sees=[ioc])
    process_and_check(exporter, ioc, "L:n", "leaves")
    assert all(held(exporter.scrape()))
    ioc.kill()
    down = exporter.wait_scrape(lambda s: s.value(UP, ioc="leaves") == 0, "up is 0")
    assert held(down) == (0, 0)
    assert down.series("ioc_exporter_map_entries", map="ioc_records") == []
    gone = exporter.wait_scrape(lambda s: s.series(UP) == [], "its series are gone")
    assert not [line for line in gone.text.splitlines() if 'ioc="leaves"' in line]


def test_exec_in_place(start_ioc, start_exporter):
    """The same process becomes another IOC: it is counted from the start, without what was before."""
    ioc = start_ioc("execs", 'record(calc,"E:n"){field(CALC,"VAL+1")}\n')
    exporter = start_exporter("--ioc.include=execs", sees=[ioc])
    process_and_check(exporter, ioc, "E:n", "execs", times=11)
    pid, before = ioc.pid, held_in_kernel(exporter)
    ioc.process.send_line("@exec")
    ioc.process.wait_for("^@running$[^@]*(?:@done[^@]*)*^@running$", timeout=60)
    exporter.wait_scrape(lambda s: s.value("epics_ioc_restarts_total", ioc="execs") == 1
                         and s.series("epics_ioc_records", ioc="execs"), "it is another one")
    assert ioc.pid == pid
    process_and_check(exporter, ioc, "E:n", "execs", times=7)
    assert held_in_kernel(exporter) == before
