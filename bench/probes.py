#!/usr/bin/env python3
"""What the record probes cost each kind of call that they see, beside empty programs at the same functions.

Interleaved: each round measures every way once, in another order, on the same two IOCs, of which one has an asynchronous
record: only there recGblFwdLink is probed. Figures are medians over the rounds of the median batch of each: nanoseconds
that a call takes longer than in the same round's run without any probe.
"""

import argparse
import contextlib
import os
import random
import statistics
import sys
import tempfile
import time

from attached import (Answering, Held, Nothing, bpftrace_script, copy_libraries, ioc_environment, library_of,
                      offset_in_file)

HERE = os.path.dirname(os.path.abspath(__file__))
WRITE = "_ZN11dbChannelIO5writeER10epicsGuardI10epicsMutexEjmPKv"
COMPLETIONS = {"without": "Passive", "with": "1 second"}
# What is called: the IOC, kind and record of bench/dbprocess_load.c.
CALLS = {
    "dbProcess": ("without", "run BENCH:CALC"),
    "dbProcess in a callback thread": ("without", "callback BENCH:CALC"),
    "dbProcess for I/O Intr": ("without", "interrupt BENCH:INTR"),
    "dbProcess, completions probed": ("with", "run BENCH:CALC"),
    "support without dbProcess": ("with", "direct BENCH:CALC"),
    "dbPutLink": ("without", "link BENCH:LINK"),
    "dbChannelIO::write": ("without", "inside BENCH:CALC"),
}
EMPTY = {"without": ["dbProcess", "dbPut", "dbPutLink", WRITE]}
EMPTY["with"] = [*EMPTY["without"], "recGblFwdLink"]


class Together:
    """Tools that are attached at the same time."""

    def __init__(self, held):
        self.held, self.stack = held, contextlib.ExitStack()

    def __enter__(self):
        for one in self.held:
            self.stack.enter_context(one)

    def __exit__(self, *_):
        self.stack.close()


def ways(args, iocs):
    def empty():
        held = []
        for name, ioc in iocs.items():
            library = library_of(ioc.process.pid)
            held += [Held([os.path.join(args.build, "bench", "empty_probes"), library, str(offset_in_file(library, function)),
                           str(ioc.process.pid), "entry"], lambda log: "attached" in log) for function in EMPTY[name]]
        return Together(held)

    def exporter(*options):
        return lambda: Held([os.path.join(args.build, "ioc_exporter"), "--web.listen-address=127.0.0.1:0",
                             "--ioc.include=BENCH_PROBES_.*", "--overhead.budget=0", "--overhead.target=0", *options],
                            lambda log: log.count("counting") >= len(iocs))

    def bpftrace():
        env = dict(os.environ, BPFTRACE_MAP_KEYS_MAX="10000")
        return Together([Held(["bpftrace", "-p", str(ioc.process.pid), "-e",
                               bpftrace_script(ioc.process.pid) + bpftrace_script(ioc.process.pid, "more_probes.bt")],
                              lambda log: "Attaching" in log, env=env) for ioc in iocs.values()])

    table = {"nothing": Nothing, "empty entries": empty, "ioc_exporter": exporter(),
             "--collector.traces": exporter("--collector.traces")}
    return table if args.no_bpftrace else table | {"bpftrace": bpftrace}


def ns_a_call(ioc, call, args):
    ioc.tell(f"{call} {args.calls} {args.batches}")
    return statistics.median(ioc.numbers())


def measure(args, iocs):
    table = ways(args, iocs)
    results = {way: {call: [] for call in CALLS} for way in table}
    for round_number in range(args.rounds):
        order = list(table)
        random.Random(round_number).shuffle(order)
        for way in order:
            with table[way]():
                time.sleep(args.settle)
                for call, (ioc, line) in CALLS.items():
                    results[way][call].append(ns_a_call(iocs[ioc], line, args))
        print(f"round {round_number + 1} of {args.rounds}", file=sys.stderr)
    return results


def report(results, args):
    print(f"ns a call, medians of {args.rounds} interleaved rounds of {args.batches} batches; with probes: what they add\n")
    print("| call | " + " | ".join(results) + " |")
    print("|---" * (len(results) + 1) + "|")
    for call in CALLS:
        cells = [f"{statistics.median(results['nothing'][call]):,.0f}"]
        for way, result in results.items():
            if way != "nothing":
                added = statistics.median(a - b for a, b in zip(result[call], results["nothing"][call]))
                cells.append(f"{added:+,.0f}")
        print(f"| {call} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--settle", type=float, default=6, help="seconds between attaching and measuring")
    parser.add_argument("--no-bpftrace", action="store_true")
    args = parser.parse_args()
    program = os.path.join(args.build, "bench", "dbprocess_load")
    with tempfile.TemporaryDirectory() as libraries:
        copy_libraries(args.dbd, libraries)
        iocs = {}
        try:
            for name, scan in COMPLETIONS.items():
                iocs[name] = Answering([program, args.dbd, os.path.join(HERE, "probes.db"), f"SLOW={scan}"],
                                       ioc_environment(f"BENCH_PROBES_{name}", libraries))
            report(measure(args, iocs), args)
        finally:
            for ioc in iocs.values():
                ioc.stop()


if __name__ == "__main__":
    main()
