#!/usr/bin/env python3
"""How many chains a second can all be traced until some are dropped, beside bpftrace that prints the same calls.

A real IOC whose records process in chains of four, ten times a second. Interleaved: each round measures every way
once, in another order, on the same IOC. Both write to a file: ioc_exporter a line of JSON for each chain, bpftrace one
for each entry and return. "done" is what the IOC processed, which may have no time left for all; "told %" is told of
told and dropped, by the tool's own count; "CPU %" the tool's own, of a core, and "IOC CPU %" what the IOC takes more
than with nothing attached.
"""

import argparse
import json
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

import attached
from attached import Answering, Held, bpftrace_script, copy_libraries, cpu_seconds, fail, ioc_environment

CHAIN = 4
PERIOD = 0.1
IOC = "BENCH_TRACES"


def records(chains):
    lines = []
    for chain in range(chains):
        for place in range(CHAIN):
            how = f'field(FLNK,"C:{chain}:{place + 1}")' if place + 1 < CHAIN else ""
            scan = "" if place else 'field(SCAN,".1 second")'
            lines.append(f'record(calc,"C:{chain}:{place}"){{field(CALC,"VAL+1") {scan} {how}}}')
    lines.append('record(sub,"CLOCK"){field(SNAM,"note_time") field(PHAS,"9") field(SCAN,".1 second")}')
    return "\n".join([*lines, ""])


class Load:
    def __init__(self, args, directory, libraries, chains):
        database = pathlib.Path(directory, "load.db")
        database.write_text(records(chains), encoding="ascii")
        self.chains = chains
        self.ioc = Answering([os.path.join(args.build, "bench", "ioc_load"), args.dbd, str(database)],
                             ioc_environment(IOC, libraries))
        self.pid = self.ioc.process.pid

    def passes(self):
        """Through the scan list, since this was asked for the last time."""
        self.ioc.tell("")
        return len(self.ioc.numbers()) + 1


class Exporter:
    """Tells every chain to a file, as lines of JSON."""

    def __init__(self, args, directory, _pid):
        self.file = pathlib.Path(directory, "traces.jsonl")
        site = pathlib.Path(directory, "site.yml")
        site.write_text(f"traces:\n  sinks:\n    - file: {self.file}\n      size: 10GiB\n", encoding="ascii")
        self.held = attached.Exporter(args.build, IOC, "--overhead.budget=0", "--overhead.target=0", "--collector.traces",
                                      "--traces.rate=100000", f"--config.file={site}")

    def __enter__(self):
        self.held.__enter__()
        return self

    def __exit__(self, *_):
        self.held.__exit__()
        self.file.unlink(missing_ok=True)

    def number(self, page, family, label=""):
        return sum(float(value) for value in re.findall(rf"^{family}(?:{{[^}}]*{label}[^}}]*}})? (\S+)$", page, re.M))

    def told(self):
        """(chains told, chains that were dropped) by now."""
        page = self.held.page()
        return (self.number(page, "ioc_exporter_sink_delivered_total"),
                self.number(page, "ioc_exporter_dropped_total", 'probe="traces"') +
                self.number(page, "ioc_exporter_sink_dropped_total"))

    def check(self):
        """Spans of the last line: a whole chain."""
        with open(self.file, "rb") as file:
            file.seek(-min(os.fstat(file.fileno()).st_size, 65536), os.SEEK_END)
            spans = json.loads(file.readlines()[-1])["spans"]
        if len(spans) not in (1, CHAIN):
            fail(f"a trace of {len(spans)} spans: {spans}")


class Bpftrace:
    """Tells every call to a file, as a line of text."""

    def __init__(self, _args, directory, pid):
        self.file = pathlib.Path(directory, "bpftrace.txt")
        self.held = Held(["bpftrace", "-p", str(pid), "-o", str(self.file), "-e", bpftrace_script(pid, "traces.bt")],
                         lambda log: self.file.exists() and "Attaching" in self.file.read_text(encoding="utf-8"))

    def __enter__(self):
        self.held.__enter__()
        return self

    def __exit__(self, *_):
        self.held.__exit__()
        self.file.unlink(missing_ok=True)

    def told(self):
        """(chains told, chains that were lost), by calls: a chain has so many entries and returns."""
        printed = lost = 0
        with open(self.file, encoding="utf-8") as file:
            for line in file:
                if line.startswith("Lost"):
                    lost += int(line.split()[1])
                elif not line.startswith("Attaching"):
                    printed += 1
        return printed / (2 * CHAIN), lost / (2 * CHAIN)

    def check(self):
        pass


WAYS = {"ioc_exporter": Exporter, "bpftrace": Bpftrace}


def one(args, load, tool):
    """Of some seconds with the tool: chains told and dropped, CPU of tool and IOC."""
    time.sleep(args.settle)
    told, dropped = tool.told()
    load.passes()
    ioc, own, start = cpu_seconds(load.pid), cpu_seconds(tool.held.process.pid), time.monotonic()
    time.sleep(args.seconds)
    span = time.monotonic() - start
    own, ioc = cpu_seconds(tool.held.process.pid) - own, cpu_seconds(load.pid) - ioc
    passes = load.passes()
    now, lost = tool.told()
    tool.check()
    return {"done": passes * load.chains / span, "told": (now - told) / span, "dropped": (lost - dropped) / span,
            "own": own / span * 100, "ioc": ioc / span * 100}


def measure(args, chains, directory, libraries):
    load = Load(args, directory, libraries, chains)
    results = {way: [] for way in WAYS}
    try:
        time.sleep(2)
        for round_number in range(args.rounds):
            idle = cpu_seconds(load.pid)
            time.sleep(args.seconds)
            idle = (cpu_seconds(load.pid) - idle) / args.seconds * 100
            order = list(WAYS)
            random.Random(round_number).shuffle(order)
            for way in order:
                with WAYS[way](args, directory, load.pid) as tool:
                    results[way].append(dict(one(args, load, tool), idle=idle))
            print(f"{chains} chains: round {round_number + 1} of {args.rounds}", file=sys.stderr)
        return results
    finally:
        load.ioc.stop()


def report(chains, results):
    for way, rounds in results.items():
        def median(value):
            return statistics.median(value(one) for one in rounds)
        share = median(lambda one: 100 * one["told"] / ((one["told"] + one["dropped"]) or 1))
        print(f"| {chains / PERIOD:,.0f} | {way} | {median(lambda one: one['done']):,.0f} | "
              f"{median(lambda one: one['told']):,.0f} | {share:.1f} | "
              f"{median(lambda one: one['own']):.1f} | {median(lambda one: one['ioc'] - one['idle']):.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="how long each way is measured in a round")
    parser.add_argument("--settle", type=float, default=2, help="seconds between attaching and measuring")
    parser.add_argument("--chains", default="100,1000,3000,8000", help="of so many in each pass, ten passes a second")
    args = parser.parse_args()
    print(f"Chains of {CHAIN} records, all of them traced: medians of {args.rounds} interleaved rounds of "
          f"{args.seconds:g} s\n")
    print("| chains a second | tool | done | told | told % | CPU % | IOC CPU % |\n" + "|---" * 7 + "|")
    for chains in [int(word) for word in args.chains.split(",")]:
        with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as libraries:
            copy_libraries(args.dbd, libraries)
            report(chains, measure(args, chains, directory, libraries))


if __name__ == "__main__":
    main()
