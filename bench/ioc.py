#!/usr/bin/env python3
"""What a real IOC pays for being watched, and what its users notice.

An IOC with many records that scan, each in a cache line of its own, and none of them fast; a client with 200 monitors
that puts with callback a hundred times a second. Interleaved: each round measures every way once, in another order, on
the same IOC. Figures are medians over the rounds. "added" is CPU against the same round's run with nothing attached,
"end x" that in multiples of what empty programs at dbProcess' entry and ends add, where the exporter has its own.
"""

import argparse
import os
import random
import re
import socket
import sys
import tempfile
import time

import ioc_tables
from attached import Answering, Held, Nothing, bpftrace_script, copy_libraries, cpu_seconds, empty_probes, ioc_environment
from ioc_tables import MOTORS

MONITORS = 200


def calcs(count, scan, first=0):
    return [f'record(calc,"LOAD:{i}"){{field(CALC,"VAL+1") field(SCAN,"{scan}")}}' for i in range(first, first + count)]


def slow_ones(count, scan, first):
    """Asynchronous: they complete 10 ms after they were processed."""
    return [f'record(calcout,"LOAD:{i}"){{field(CALC,"VAL+1") field(ODLY,"0.01") field(SCAN,"{scan}")}}'
            for i in range(first, first + count)]


PORTS = 8
# Records of a port of motors.c, all but their names. The first are moved: every other one by a client, the others by links.
MOVES = ['record(move,"{name}"){{field(PORT,"{port}")}}'] * 16
PORT = [*MOVES,
        *['record(longin,"{name}"){{field(DTYP,"Bench Port") field(INP,"@{port} interrupt") field(SCAN,"I/O Intr")}}'] * 32,
        *['record(longin,"{name}"){{field(DTYP,"Bench Port") field(INP,"@{port} direct")}}'] * 16,
        *['record(longin,"{name}"){{field(DTYP,"Bench Port") field(INP,"@{port} once")}}'] * 8,
        *['record(longout,"{name}"){{field(DTYP,"Bench Port") field(OUT,"@{port}") field(SCAN,".1 second")}}'] * 16]
MOVED_BY_CLIENTS = [f"LOAD:{i}" for i in range(PORTS * len(PORT)) if i % len(PORT) in range(0, len(MOVES), 2)]


def motors():
    records = [text.format(name=f"LOAD:{i}", port=i // len(PORT)) for i, text in enumerate(PORTS * PORT)]
    for i in [i for i in range(len(records)) if i % len(PORT) in range(1, len(MOVES), 2)]:
        # Active until its put-callback is done; each scan then begins the next one.
        records.append(f'record(calcout,"LOAD:{len(records)}"){{field(CALC,"VAL+1") field(SCAN,".5 second") '
                       f'field(DTYP,"Async Soft Channel") field(OUT,"LOAD:{i} CA")}}')
    return records


# Name: the records, and the period of their scan in seconds.
LOADS = {
    "5,000 records at 10 Hz": (calcs(5000, ".1 second"), 0.1),
    "500 records at 10 Hz, 50 of them asynchronous": (calcs(450, ".1 second") + slow_ones(50, ".1 second", 450), 0.1),
    "100,000 records at 1 Hz": (calcs(100000, "1 second"), 1.0),
    MOTORS: (motors(), 0.1),
}
# Ways that take so many seconds until they are as they stay: the budget is kept by what is seen of the IOC's load.
SETTLES = {"ioc_exporter": 12}
# Last of its scan: its time says when the whole list was done.
CLOCK = 'record(sub,"LOAD:CLOCK"){{field(SNAM,"note_time") field(PHAS,"9") field(SCAN,"{scan}")}}'
COLUMNS = ["CPU %", "scan p50 ms", "scan p99 ms", "scan max ms", "put p50 us", "put p99 us", "monitor p50 us", "monitor p99 us"]
SETPOINT = 'record(ao,"LOAD:PUT"){field(FLNK,"LOAD:PUT:CALC")}\nrecord(calc,"LOAD:PUT:CALC"){field(CALC,"VAL+1")}'


class Load:
    """The IOC and its client."""

    def __init__(self, args, directory, libraries, name):
        records, period = LOADS[name]
        scan = ".1 second" if period < 1 else "1 second"
        database = os.path.join(directory, "load.db")
        with open(database, "w", encoding="ascii") as out:
            out.write("\n".join([*records, CLOCK.format(scan=scan), SETPOINT, ""]))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = ioc_environment("BENCH_LOAD", libraries, port)
        programs = os.path.join(args.build, "bench")
        self.period = period
        self.ioc = Answering([os.path.join(programs, "ioc_load"), args.dbd, database], environment)
        monitored = [f"LOAD:{i}" for i in range(0, len(records), max(1, len(records) // MONITORS))][:MONITORS]
        self.client = Answering([os.path.join(programs, "ioc_client"), "LOAD:PUT", *monitored,
                                 *(["--", *MOVED_BY_CLIENTS] if name == MOTORS else [])], environment)

    def measure(self, seconds):
        seconds = max(seconds, 3 * self.period)  # at least two passes of the scan
        self.ioc.tell("")
        self.ioc.numbers()
        cpu, start = cpu_seconds(self.ioc.process.pid), time.monotonic()
        self.client.tell(seconds)
        puts, monitors = self.client.numbers(), self.client.numbers()
        share = (cpu_seconds(self.ioc.process.pid) - cpu) / (time.monotonic() - start) * 100
        self.ioc.tell("")
        deviations = [abs(ns / 1e6 - self.period * 1e3) for ns in self.ioc.numbers()]
        return dict(zip(COLUMNS, [share, quantile(deviations, 0.5), quantile(deviations, 0.99), max(deviations),
                                  quantile(puts, 0.5), quantile(puts, 0.99),
                                  quantile(monitors, 0.5), quantile(monitors, 0.99)]))

    def stop(self):
        self.client.stop()
        self.ioc.stop()


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def ways(args, name, pid):
    exporter = [os.path.join(args.build, "ioc_exporter"), "--web.listen-address=127.0.0.1:0",
                "--ioc.include=BENCH_LOAD"]

    def exporter_way(*options, ready="counting"):
        return lambda: Held([*exporter, *options], lambda log: ready in log)

    table = {
        "nothing": Nothing,
        "empty entry": lambda: empty_probes(args.build, pid, "entry"),
        "empty pair": lambda: empty_probes(args.build, pid),
        "empty entry and end": lambda: empty_probes(args.build, pid, "ends"),
        "ioc_exporter": exporter_way(),
        "no budget": exporter_way("--overhead.budget=0"),
        "no budget, all timed": exporter_way("--overhead.budget=0", "--overhead.target=0"),
        "no budget, without durations": exporter_way("--overhead.budget=0", "--no-records.durations"),
        "puts only": exporter_way("--no-collector.records", ready="found"),
        "no budget, all timed, traces": exporter_way("--overhead.budget=0", "--overhead.target=0", "--collector.traces"),
        # Of the load "5,000 records at 10 Hz" 500 is one chain in a hundred.
        "traces, one a second": exporter_way("--collector.traces"),
        "traces, 500 a second": exporter_way("--collector.traces", "--traces.rate=500"),
        "traces, all": exporter_way("--collector.traces", "--traces.rate=100000", "--overhead.target=0"),
    }
    if not args.no_bpftrace:
        script = bpftrace_script(pid) + (bpftrace_script(pid, "more_probes.bt") if name == MOTORS else "")
        table["bpftrace"] = lambda: Held(["bpftrace", "-p", str(pid), "-e", script], lambda log: "Attaching" in log,
                                         env=dict(os.environ, BPFTRACE_MAP_KEYS_MAX="200000"))
    if args.write_docs:
        return {way: table[way] for way in ioc_tables.documented(name)}
    keep = re.compile(f"nothing$|{ioc_tables.ENDS}$|{args.only}" if args.only else "")
    return {way: held for way, held in table.items() if keep.match(way)}


def measure(args, name, directory, libraries):
    load = Load(args, directory, libraries, name)
    try:
        time.sleep(3)
        table = ways(args, name, load.ioc.process.pid)
        results = {way: [] for way in table}
        for round_number in range(args.rounds):
            order = list(table)
            random.Random(round_number).shuffle(order)
            for way in order:
                with table[way]():
                    time.sleep(max(args.settle, SETTLES.get(way, 0)))
                    results[way].append(load.measure(args.seconds))
            print(f"{name}: round {round_number + 1} of {args.rounds}", file=sys.stderr)
        return results
    finally:
        load.stop()


def report(name, results, args):
    print(f"\n{name}, {MONITORS} monitors, put-callbacks: medians of {args.rounds} interleaved rounds of "
          f"{args.seconds:g} s\n")
    print("\n".join(ioc_tables.table(results, {way: way for way in results})), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="how long each way is measured in a round")
    parser.add_argument("--settle", type=float, default=3, help="seconds between attaching and measuring")
    parser.add_argument("--no-bpftrace", action="store_true")
    parser.add_argument("--only", help="expression (re) of the ways to measure; nothing, empty entry and end always are")
    parser.add_argument("--load", help="expression (re) of the loads")
    parser.add_argument("--write-docs", action="store_true",
                        help="measure what the documents show, and write the tables of bench/README.md and, of all loads, README.md")
    args = parser.parse_args()
    if args.write_docs and (args.only or args.no_bpftrace):
        parser.error("--write-docs measures all that the documents show: without --only and --no-bpftrace")
    measured = []
    for name in LOADS:
        if args.load and not re.search(args.load, name):
            continue
        with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as libraries:
            copy_libraries(args.dbd, libraries)
            measured.append((name, measure(args, name, directory, libraries)))
            report(*measured[-1], args)
    if args.write_docs:
        ioc_tables.write_docs(measured, args)


if __name__ == "__main__":
    main()
