"""A mixed load with IOCs and clients that come and go: nothing grows, and every count is exact.

A minute of it here, or IOC_EXPORTER_SOAK_SECONDS (bench/soak.sh HOURS), with a line a minute of what the exporter holds.
"""
import http.client
import itertools
import os
import pathlib
import random
import re
import socket
import statistics
import threading
import time
from collections import Counter

from harness import clients
from harness.ioc import Ioc
from harness.named_client import NamedClient
from harness.ports import free_port
from harness.put_log import PutLog
from harness.scrape import PROCESSED, PUTS, exact
from harness.waiting import wait_until

SECONDS = float(os.environ.get("IOC_EXPORTER_SOAK_SECONDS", "45"))
USERS = [f"operator{i}" for i in range(8)]
BASES = ["7.0.4", "7.0.6", "7.0.7", "7.0.10"]
SCANS = [f"scan{i}" for i in range(40)]
DATABASE = """
    record(ao,"$(P)a"){field(FLNK,"$(P)a:count")} record(calc,"$(P)a:count"){field(CALC,"VAL+1")}
    record(ao,"$(P)b"){field(FLNK,"$(P)b:count")} record(calc,"$(P)b:count"){field(CALC,"VAL+1")}
    record(calcout,"$(P)slow"){field(CALC,"VAL+1") field(ODLY,"0.05")}
""" + "".join(f'record(calc,"$(P){name}"){{field(CALC,"VAL+1")}}\n' for name in SCANS)
# Until then tables fill with what is kept for a while: counts of IOCs that are gone, beacons of servers that are silent.
WARM = 660.0 if SECONDS > 1200 else 0.0
# Growth that is allowed from the first third of the time to the last: for IOCs (30 descriptors each) and clients that come
# and go just then, and in a short run for caches that fill, among them what each of 400 threads that serve requests keeps
# of its first ones. MB: memory that no other process shares.
MAY_GROW = ({"MB of main": 3, "MB of others": 3, "descriptors": 12, "threads": 4, "map entries": 300, "series": 100} if WARM else
            {"MB of main": 24, "MB of others": 12, "descriptors": 80, "threads": 8, "map entries": 2500, "series": 500})
LONGEST_END = 3.0  # seconds from SIGTERM, on a busy machine


class Load:
    """Threads that do the same again and again until the end; what one of them raises ends the test."""

    def __init__(self, exporter, log_dir: pathlib.Path):
        self.exporter, self.log_dir = exporter, log_dir
        self.sent: Counter[tuple[str, str, str]] = Counter()  # IOC, PV, user
        self.done: Counter[str] = Counter()
        self.error: BaseException | None = None
        self._stop, self._lock, self._threads = threading.Event(), threading.Lock(), []

    def repeat(self, what: str, action, every: float) -> None:
        def run():
            try:
                while not self._stop.is_set():
                    action()
                    with self._lock:
                        self.done[what] += 1
                    self._stop.wait(every)
            except BaseException as error:  # pylint: disable=broad-exception-caught
                self.error = self.error or error
                self._stop.set()

        self._threads.append(threading.Thread(target=run, name=what))
        self._threads[-1].start()

    def note(self, ioc: str, user: str, puts: dict[str, int]) -> None:
        with self._lock:
            for pv, count in puts.items():
                self.sent[ioc, pv, user] += count

    def wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            self.stop()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self.error:
            raise self.error

    def circuit(self, ioc: Ioc, prefix: str, many: int) -> None:
        """Opens, monitors, puts with and without callback, and goes."""
        user = random.choice(USERS)
        client = NamedClient(ioc.port, user, "console1").open(f"{prefix}a", f"{prefix}b")
        slow = client.create(f"{prefix}slow.PROC")
        client.monitor(client.create(f"{prefix}a"))
        for name in ("a", "b"):
            client.put(f"{prefix}{name}", many)
        client.write_notify(slow, 1)
        if random.random() < 0.5:
            client.close(f"{prefix}a")
        client.wait_done()
        self.note(ioc.name, user, {f"{prefix}a": many, f"{prefix}b": many, f"{prefix}slow.PROC": 1})
        client.kill()

    def guest(self, name: str, prefix: str, port: int, base: str) -> None:
        """An IOC that starts, is put to and is gone."""
        ioc = Ioc(name, DATABASE, self.log_dir, base=base, macros=f"P={prefix}", port=port).wait_running()
        try:
            self.exporter.wait_up(ioc)
            self.exporter.wait_put_source(ioc, "server", timeout=60)
            self.exporter.wait_scrape(lambda page: page.value("epics_ioc_records_watched", ioc=name) == 1, f"{name} is watched")
            for _ in range(3):
                self.circuit(ioc, prefix, 7)
            total = sum(count for (of, _, _), count in list(self.sent.items()) if of == name)
            # A scrape of somebody else, which has begun before, may be this one, too: its parts are of different times.
            done = ioc.get(f"{prefix}a:count.VAL")
            self.exporter.wait_scrape(lambda page: (page.total(PUTS, ioc=name), page.count(PROCESSED, ioc=name, record=f"{prefix}a"))
                                      == (total, done), f"{total} puts to {name}, {done} processings")
        finally:
            ioc.kill()

    def pva(self, ioc: Ioc) -> None:
        client = clients.p4p(self.log_dir, [ioc], {"SOAK0:a": 1.5, "SOAK0:b": 2.5}, 5).wait_connected()
        client.send()
        client.close()
        self.note(ioc.name, clients.LIBCA_USER, {"SOAK0:a": 5, "SOAK0:b": 5})

    def pages(self) -> None:
        """Readers of all kinds, some of whom leave in the middle."""
        for path in ("/metrics", "/", "/api/v1/puts?limit=50", "/-/healthy"):
            try:
                status, _, _ = self.exporter.request(path, headers={"Accept-Encoding": random.choice(["gzip", "identity"])})
            except http.client.RemoteDisconnected:  # on a busy machine three seconds may pass before it has sent its request
                self.done["readers that were too slow"] += 1
                continue
            assert status == 200, path
        with socket.create_connection(("127.0.0.1", self.exporter.port)) as leaving:
            leaving.send(random.choice([b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b""]))


def processes_of(pid: int) -> list[int]:
    """It and its children, and theirs."""
    found = [pid]
    for each in found:
        for path in pathlib.Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue
    return found


def own_mb(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        try:
            total += int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
        except (OSError, TypeError):
            continue
    return total / 1024


def held(exporter) -> dict[str, float]:
    """What it holds now."""
    page, pids = exporter.scrape(), processes_of(exporter.pid)
    return {"MB of main": own_mb(pids[:1]), "MB of others": own_mb(pids[1:]),
            "descriptors": len(os.listdir(f"/proc/{exporter.pid}/fd")),
            "threads": len(os.listdir(f"/proc/{exporter.pid}/task")),
            "map entries": page.total("ioc_exporter_map_entries"),
            "series": sum(not line.startswith("#") for line in page.text.splitlines())}


def tell(begin: float, what: dict[str, float], done: Counter) -> None:
    print(f"{time.monotonic() - begin:7.0f} s  " + "  ".join(f"{name} {value:.0f}" for name, value in what.items()), dict(done), flush=True)


def grown(samples: list[dict[str, float]]) -> dict[str, float]:
    """By how much the median of the last third is above that of the first."""
    third = max(1, len(samples) // 3)
    middle = lambda part, name: statistics.median(sample[name] for sample in part)
    return {name: middle(samples[-third:], name) - middle(samples[:third], name) for name in samples[0]}


def losses(page) -> dict[str, float]:
    """But for traces, which are samples."""
    return {f"{labels['probe']} {labels['reason']}": value
            for labels, value in page.series("ioc_exporter_dropped_total") if value and labels["probe"] != "traces"}


def test_nothing_grows_and_all_is_counted(started, start_ioc, start_exporter, log_dir):
    put_log = PutLog(log_dir / "puts.jsonl")
    iocs = [start_ioc("soak-0", DATABASE, macros="P=SOAK0:", qsrv=2),
            *(start_ioc(f"soak-{i}", DATABASE, base=BASES[i], macros=f"P=SOAK{i}:") for i in (1, 2))]
    exporter = start_exporter("--ioc.include=soak-.*", "--web.max-requests=64", "--collector.traces", "--set",
                              "putlog.events=1000", "--set", "traces.kept=1000", *put_log.options, sees=iocs)
    for ioc in iocs:
        exporter.wait_put_source(ioc, "server", timeout=60)
    exporter.wait_put_source(iocs[0], "server", "pva", timeout=60)
    before = exporter.scrape()
    for ioc, name in itertools.product(iocs, SCANS):
        ioc.put(f"{ioc.name.replace('soak-', 'SOAK')}:{name}.SCAN", ".5 second")
    load, begin = Load(exporter, log_dir), time.monotonic()
    for i, ioc in enumerate(iocs):
        load.repeat("circuits", lambda ioc=ioc, i=i: load.circuit(ioc, f"SOAK{i}:", random.randrange(1, 12)), 0.3)
    for i in range(2):
        bases, port = itertools.cycle(BASES[i:] + BASES[:i]), free_port()
        load.repeat("guests", lambda i=i, bases=bases, port=port: load.guest(f"soak-guest-{i}", f"GUEST{i}:", port, next(bases)), 1)
    load.repeat("PV Access", lambda: load.pva(iocs[0]), 8)
    load.repeat("readers", load.pages, 0.5)
    samples: list[dict[str, float]] = []
    try:
        wait_until(lambda: load.error or load.done["guests"] >= 4, "each guest was there twice", 120)  # all series are there
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            load.wait(min(60.0, SECONDS / 15))
            now = held(exporter)
            tell(begin, now, load.done)
            if time.monotonic() > end - SECONDS + WARM:
                samples.append(now)
    finally:
        load.stop()
    check_counts(exporter, load, iocs, before, put_log)
    growth = grown(samples)
    print("grown:", growth)
    assert not {name: by for name, by in growth.items() if by > MAY_GROW[name]}, growth
    stopping = time.monotonic()
    assert exporter.stop() == 0
    took = time.monotonic() - stopping
    print(f"SIGTERM: {took:.2f} s")
    assert took < LONGEST_END, f"not within {LONGEST_END} s: the end"


def check_counts(exporter, load: Load, iocs: list[Ioc], before, put_log: PutLog) -> None:
    for ioc, name in itertools.product(iocs, SCANS):
        ioc.put(f"{ioc.name.replace('soak-', 'SOAK')}:{name}.SCAN", "Passive")
    puts = sum(load.sent.values())
    page = exporter.wait_scrape(lambda page: page.total(PUTS) >= puts, f"{puts} puts", 60)
    counted = Counter()
    for labels, value in page.series(PUTS):
        counted[labels["ioc"], labels["pv"], labels["user"]] += exact(value)
    assert counted == load.sent
    for ioc in iocs:
        prefix = ioc.name.replace("soak-", "SOAK") + ":"
        names = [f"{prefix}{name}" for name in ("a:count", "b:count", *SCANS)]
        processed = page.counts(PROCESSED, ioc.name, names)
        was = before.counts(PROCESSED, ioc.name, names)
        assert {name: processed[name] - was[name] for name in names} == {name: ioc.get(f"{name}.VAL") for name in names}
    sink = exporter.wait_scrape(lambda page: page.sink("file")["waiting"] == 0, "the put log is written").sink("file")
    assert (sink["delivered"], sink["dropped"]) == (puts, 0)
    lines = sum(file.read_bytes().count(b"\n") for file in put_log.path.parent.glob(put_log.path.name + "*"))
    assert lines == puts
    assert losses(page) == losses(before)
    print(f"{puts} puts, {dict(load.done)}: all counts exact")
