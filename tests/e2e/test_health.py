"""Metrics of an IOC's process equal the kernel's numbers."""
import os
import re
import resource

import pytest

from harness import clients, databases
from harness.scrape import exact

ALL_CPU, CPU, THREADS = "epics_ioc_process_cpu_seconds_total", "epics_ioc_cpu_seconds_total", "epics_ioc_threads"
# Base's own: seven periods, three priorities, one scanOnce.
OF_EVERY_IOC = {"scan": 7, "callback": 3, "once": 1, "main": 1}


def cpu_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.outer_bases
def test_process_of_an_ioc(base, start_ioc, start_exporter, connect):
    ioc = start_ioc("healthy", databases.put_targets("H:", 1), base=base)
    exporter = start_exporter(sees=[ioc])
    first = exporter.scrape()
    check_threads_memory_and_descriptors(ioc, first)
    for _ in range(2):
        client = connect(clients.libca, [ioc], ["H:set1"], 997)
        assert client.send() == 997
        client.close()
    check_cpu(ioc, exporter, first)


def check_threads_memory_and_descriptors(ioc, scrape):
    threads = {labels["thread_class"]: exact(value)
               for labels, value in scrape.series(THREADS, ioc=ioc.name)}
    assert {name: threads[name] for name in OF_EVERY_IOC} == OF_EVERY_IOC
    assert threads["ca"] >= 2  # CAS-TCP and CAS-UDP at least
    assert sum(threads.values()) == len(os.listdir(f"/proc/{ioc.pid}/task"))
    assert scrape.count("epics_ioc_open_fds", ioc=ioc.name) == len(os.listdir(f"/proc/{ioc.pid}/fd"))
    assert (scrape.count("epics_ioc_max_fds", ioc=ioc.name)
            == resource.prlimit(ioc.pid, resource.RLIMIT_NOFILE)[0])
    with open(f"/proc/{ioc.pid}/status") as status:
        high_water = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) * 1024
    # The kernel keeps three counters for each CPU apart, of up to 32 pages, which /proc/PID/stat does not add (6.2).
    apart = 3 * max(32, 2 * os.cpu_count()) * os.cpu_count() * resource.getpagesize()
    assert 0 < scrape.count("epics_ioc_resident_memory_bytes", ioc=ioc.name) <= high_water + apart
    assert scrape.count("epics_ioc_threads_spinning", ioc=ioc.name) == 0
    assert scrape.count("epics_ioc_restarts_total", ioc=ioc.name) == 0


def check_cpu(ioc, exporter, first):
    """The classes add up to what the process used since, also with the threads of clients that are gone."""
    before = cpu_ticks(ioc.pid)
    scrape = exporter.scrape()
    after = cpu_ticks(ioc.pid)
    tick = 1 / os.sysconf("SC_CLK_TCK")
    total = round(scrape.value(ALL_CPU, ioc=ioc.name) / tick, 6)
    assert before <= total <= after
    by_class = [sum(value for _, value in page.series(CPU, ioc=ioc.name)) for page in (first, scrape)]
    # The kernel cuts user and system time to ticks each.
    assert abs(by_class[1] - by_class[0] - (scrape.value(ALL_CPU, ioc=ioc.name) - first.value(ALL_CPU, ioc=ioc.name))) < 4 * tick
    for labels, value in first.series(CPU, ioc=ioc.name):
        assert scrape.value(CPU, **labels) >= value


def test_after_a_restart_of_the_exporter(start_ioc, start_exporter, connect):
    """What clients' threads used before does not show as usage: neither all of it, nor what one exporter knew by class."""
    ioc = start_ioc("healthy-restarts", databases.put_targets("H:", 1))
    exporter = start_exporter(sees=[ioc])
    for _ in range(5):
        client = connect(clients.libca, [ioc], ["H:set1"], 4999)
        assert client.send() == 4999
        client.close()
    ioc.get_settled(["H:set1:count.VAL"])
    before = exporter.scrape()
    assert exporter.stop() == 0
    used = cpu_ticks(ioc.pid) / os.sysconf("SC_CLK_TCK")
    again = start_exporter(sees=[ioc]).scrape()
    assert used >= before.value(ALL_CPU, ioc=ioc.name) > 0
    assert used <= again.value(ALL_CPU, ioc=ioc.name)
    # As rate() takes them: a counter that falls has begun at 0.
    def increase(family, **labels):
        first, last = before.value(family, **labels), again.value(family, **labels)
        return last if last < first else last - first

    since = again.value(ALL_CPU, ioc=ioc.name) - before.value(ALL_CPU, ioc=ioc.name)
    assert increase(ALL_CPU, ioc=ioc.name) == since
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert sum(increase(CPU, **labels) for labels, _ in again.series(CPU, ioc=ioc.name)) < since + 4 * tick


def test_threads_that_ended_have_their_class(start_ioc, start_exporter, connect):
    """Those of clients that came and went between two scrapes: the server's, and not of no class."""
    ioc = start_ioc("healthy-ends", databases.put_targets("H:", 1))
    exporter = start_exporter(sees=[ioc])
    first = exporter.scrape()
    if "ioc_exit" not in {labels["probe"] for labels, value in first.series("ioc_exporter_probe_loaded") if value == 1}:
        pytest.skip("the kernel has no BTF")
    for _ in range(5):
        client = connect(clients.libca, [ioc], ["H:set1"], 4999)
        assert client.send() == 4999
        client.close()
    ioc.get_settled(["H:set1:count.VAL"])
    by_class = {labels["thread_class"]: value - first.value(CPU, **labels) for labels, value in exporter.scrape().series(CPU, ioc=ioc.name)}
    # No thread of a client was there at either scrape. The rest is what the kernel takes to end a thread.
    assert by_class["ca"] > 10 * by_class["ended"] >= 0


def test_a_thread_that_never_rests(start_ioc, start_exporter):
    ioc = start_ioc("spinner", databases.counting(), macros="P=S:", spin=True)
    exporter = start_exporter(sees=[ioc])
    exporter.wait_scrape(lambda s: s.value("epics_ioc_threads_spinning", ioc="spinner") == 1,
                         "one thread of spinner spins")
