#!/usr/bin/env python3
"""What a log of every put costs, beside tcpdump that writes the packets and, inside the IOC, caPutLog.

A real IOC and libca's client on loopback, at several rates of puts of one double. Interleaved: each round sends the
same puts once in every way, in another order. Told are the CPU time of the IOC for each put more than with nothing
attached (what probes cost is in it), the CPU of the tool in percent of a core while puts come, and whether what was
sent is what was logged and what was counted as dropped. Medians of the rounds.

With --caputlog=DIR, a folder with caPutLog's sources (github.com/epics-modules/caPutLog), they are compiled for the IOC's
Base and loaded into a second IOC, which sends all puts ("2": no filter) by TCP to this script.
"""

import argparse
import contextlib
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from puts import PVS, Exporter, Tool, start_ioc

SETTLES = 20.0  # seconds in which a log is to have what was put
FLUSHES = 7.0  # caPutLog's client sends what it has after five


def cpu_ns(process):
    """Of all its threads that there are, by the scheduler, which is finer than ticks."""
    total = 0
    for file in pathlib.Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(file.read_text().split()[0])
    return total


class LineCounter:
    """Who receives caPutLog's lines."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lines = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._count, args=[connection], daemon=True).start()

    def _count(self, connection):
        while piece := connection.recv(1 << 20):
            self.lines += piece.count(b"\n")


def build_caputlog(args, directory):
    """The module and what puts its commands into the shell of an IOC that was built without it."""
    sources = args.caputlog / "caPutLogApp"
    if not (sources / "caPutLogTask.c").exists():
        sys.exit(f"putlog.py: {args.caputlog} has no caPutLogApp/caPutLogTask.c")
    glue = pathlib.Path(directory) / "glue.c"
    glue.write_text("#include <stdlib.h>\nint asSetFilename(const char *);\nextern void (*pvar_func_caPutLogRegister)(void);\n"
                    "__attribute__((constructor)) static void add(void)\n"
                    '{ pvar_func_caPutLogRegister(); asSetFilename(getenv("BENCH_RULES")); }\n')
    library = pathlib.Path(directory) / "caputlog.so"
    base = args.dbd.parent
    include = [f"-I{base / 'include' / part}" for part in ("", "os/Linux", "compiler/gcc")]
    names = ("caPutLog", "caPutLogAs", "caPutLogClient", "caPutLogTask", "caPutLogShellCommands")
    subprocess.run(["gcc", "-O2", "-w", "-shared", "-fPIC", "-o", library, glue, f"-I{sources}", *include,
                    "-D_GNU_SOURCE", *[sources / f"{name}.c" for name in names]], check=True)
    return library


class Bench:
    def __init__(self, args, directory):
        self.args = args
        self.directory = pathlib.Path(directory)
        self.ioc = start_ioc(args, directory, args.port)
        self.notes = []
        self.logging_ioc = None
        if args.caputlog:
            self.receiver = LineCounter()
            rules = self.directory / "rules.acf"
            rules.write_text("ASG(DEFAULT) { RULE(1,READ) RULE(1,WRITE,TRAPWRITE) }\n")
            self.logging_ioc = start_ioc(args, directory, args.port + 1, "CAPUTLOG", {
                "LD_PRELOAD": str(build_caputlog(args, directory)), "BENCH_RULES": str(rules)})
            self.logging_ioc.send(f'caPutLogInit("127.0.0.1:{self.receiver.port}",2)')
            time.sleep(2)  # it connects, and logs that

    def end(self):
        for ioc in filter(None, [self.ioc, self.logging_ioc]):
            ioc.end()

    def flood(self, ioc, port, rate, before_end):
        """Nanoseconds of the IOC's CPU, and the puts; before_end(puts) is called while the client is still there."""
        count = max(1, round(rate * self.args.seconds / PVS))
        batch = max(1, rate // 100 // PVS)
        client = Tool([self.args.build / "tests/e2e/tools/ca_flood", count, "put", "double", 1, f"{batch}@{rate}",
                       *[f"B:{i}" for i in range(PVS)]],
                      {"EPICS_CA_ADDR_LIST": f"127.0.0.1:{port}", "EPICS_CA_AUTO_ADDR_LIST": "NO"})
        client.wait_for("^@connected$")
        before, begun = cpu_ns(ioc.process), time.monotonic()
        client.send("go")
        puts = int(client.wait_for(r"^@sent (\d+)$", 600)[1])
        seconds = time.monotonic() - begun
        note = before_end(puts, seconds)
        used = cpu_ns(ioc.process) - before
        client.end()
        return used, puts, seconds, note

    def nothing(self, rate):
        return self.flood(self.ioc, self.args.port, rate, lambda puts, seconds: ("", 0.0))

    def counts_alone(self, rate):
        exporter = Exporter(self.args.build / "ioc_exporter")
        before = exporter.sum_of("epics_puts_total"), cpu_ns(exporter.process)

        def note(puts, seconds):
            used = cpu_ns(exporter.process) - before[1]
            counted = exporter.sum_of("epics_puts_total") - before[0]
            return f"sent {puts} = counted {counted:.0f}", used / seconds / 1e7, counted == puts
        result = self.flood(self.ioc, self.args.port, rate, note)
        exporter.end()
        return result

    def put_log(self, rate):
        file = self.directory / "puts.jsonl"
        exporter = Exporter(self.args.build / "ioc_exporter", "--collector.putlog", f"--putlog.file={file}", "--putlog.burst=0")

        def logged():
            return (exporter.sum_of("ioc_exporter_sink_delivered_total", 'sink="file"'),
                    exporter.sum_of("ioc_exporter_sink_dropped_total") + exporter.sum_of("ioc_exporter_dropped_total", 'probe="putlog",reason="full"'))
        before = cpu_ns(exporter.process)

        def note(puts, seconds):
            used = cpu_ns(exporter.process) - before
            deadline = time.monotonic() + SETTLES
            while sum(logged()) < puts and time.monotonic() < deadline:
                time.sleep(0.1)
            used = max(used, cpu_ns(exporter.process) - before)
            told, dropped = logged()
            return f"sent {puts} = logged {told:.0f} + dropped {dropped:.0f}", used / seconds / 1e7, told + dropped == puts
        result = self.flood(self.ioc, self.args.port, rate, note)
        exporter.end()
        file.unlink()
        return result

    def tcpdump(self, rate):
        file = self.directory / "puts.pcap"
        tool = Tool(["tcpdump", "-i", "lo", "-w", file, "tcp", "port", str(self.args.port)])
        tool.wait_for("listening on")
        before = cpu_ns(tool.process)

        def note(_puts, seconds):
            return "", (cpu_ns(tool.process) - before) / seconds / 1e7
        used, puts, seconds, (_, percent) = self.flood(self.ioc, self.args.port, rate, note)
        tool.process.terminate()
        tool.process.wait()
        captured, dropped = (int(re.search(rf"^(\d+) packets? {word}", tool.text(), re.M)[1])
                             for word in ("captured", "dropped by kernel"))
        return used, puts, seconds, (f"{captured} packets, dropped {dropped}, {file.stat().st_size / 1e6:.1f} MB", percent)

    def caputlog(self, rate):
        before = self.receiver.lines

        def note(puts, _seconds):
            last, since = -1, time.monotonic()
            while self.receiver.lines - before < puts and time.monotonic() - since < FLUSHES:
                if self.receiver.lines != last:
                    last, since = self.receiver.lines, time.monotonic()
                time.sleep(0.1)
            got = self.receiver.lines - before
            return f"sent {puts}, received {got} lines: lost {puts - got}", 0.0
        return self.flood(self.logging_ioc, self.args.port + 1, rate, note)

    def ways(self):
        ways = {"nothing": self.nothing, "ioc_exporter, counts alone": self.counts_alone,
                "ioc_exporter, put log": self.put_log, "tcpdump -w FILE": self.tcpdump}
        return {**ways, "caPutLog, in the IOC": self.caputlog} if self.logging_ioc else ways

    def measure(self, rate):
        results = {way: [] for way in self.ways()}
        for number in range(self.args.rounds):
            order = list(results)
            random.Random(number).shuffle(order)
            for way in order:
                results[way].append(self.ways()[way](rate))
        floor = [used / puts for used, puts, _, _ in results["nothing"]]
        print(f"\n{rate:,} puts/s asked for, {self.args.rounds} rounds of {self.args.seconds} s")
        exact = True
        for way, rounds in results.items():
            added = statistics.median(used / puts - least for (used, puts, _, _), least in zip(rounds, floor))
            reached = statistics.median(puts / seconds for _, puts, seconds, _ in rounds)
            percent = statistics.median(note[1] for *_, note in rounds)
            print(f"  {way:28} {reached:9,.0f} puts/s   IOC + {added:7,.0f} ns a put   tool {percent:5.1f} % of a core")
            for *_, note in rounds:
                exact &= note[2] if len(note) > 2 else True
                if note[0]:
                    print(f"      {note[0]}{'' if len(note) < 3 or note[2] else '   NOT EXACT'}")
        print(f"  with nothing, the IOC takes {statistics.median(floor):,.0f} ns a put")
        return exact


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--dbd", required=True, type=pathlib.Path)
    parser.add_argument("--rates", default="1000,10000,200000", help="puts a second")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="of each flood")
    parser.add_argument("--port", type=int, default=17164, help="of the IOC; that of the one with caPutLog is one more")
    parser.add_argument("--caputlog", type=pathlib.Path, help="its sources")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(args, directory)
        try:
            exact = [bench.measure(int(rate)) for rate in args.rates.split(",")]
        finally:
            bench.end()
    return 0 if all(exact) else 1


if __name__ == "__main__":
    sys.exit(main())
