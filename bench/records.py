#!/usr/bin/env python3
"""What the record probes cost a dbProcess() of a real IOC, beside the floor and a peer.

Interleaved: each round measures every way once, in another order, on the same two IOC processes. One IOC
is watched, the other is on the same library and is not. Figures are medians over the rounds of the
median batch of each; "added" is against the same round's run without any probe.
"""

import argparse
import os
import random
import re
import statistics
import sys
import tempfile

from attached import (Answering, Held, Nothing, bpftrace_script, copy_libraries, empty_probes, ioc_environment,
                      library_of, offset_in_file)

HERE = os.path.dirname(os.path.abspath(__file__))


class Ioc(Answering):
    """A process of bench/dbprocess_load.c."""

    def __init__(self, program, dbd, name, libraries):
        super().__init__([program, dbd, os.path.join(HERE, "dbprocess.db")], ioc_environment(name, libraries))

    def ns_a_call(self, record, calls, batches):
        self.tell(f"run {record} {calls} {batches}")
        return statistics.median(self.numbers())


def ways(args, watched, library, offset):
    empty = os.path.join(args.build, "bench", "empty_probes")
    exporter = os.path.join(args.build, "ioc_exporter")
    script = bpftrace_script(watched.process.pid)
    # Without a budget: the load takes a whole core, and would not be counted.
    common = [exporter, "--web.listen-address=127.0.0.1:0", "--ioc.include=BENCH_WATCHED.*",
              "--overhead.budget=0", "--no-collector.puts"]

    def exporter_way(*options):
        return lambda: Held([*common, *options], lambda log: log.count("counting") >= args.iocs)

    table = {
        "nothing": Nothing,
        "empty pair (floor)": lambda: empty_probes(args.build, watched.process.pid),
        "empty entry alone": lambda: empty_probes(args.build, watched.process.pid, "entry"),
        "ioc_exporter": exporter_way(),
        "without durations": exporter_way("--no-records.durations"),
        "empty pair, all processes": lambda: Held([empty, library, str(offset), "-1"],
                                                  lambda log: "attached" in log),
    }
    if not args.no_bpftrace:
        attached = {"is_attached": lambda log: "Attaching" in log,
                    "env": dict(os.environ, BPFTRACE_MAP_KEYS_MAX="10000")}
        table["bpftrace, filter inside"] = lambda: Held(["bpftrace", "-e", script], **attached)
        table["bpftrace, filter before"] = lambda: Held(
            ["bpftrace", "-p", str(watched.process.pid), "-e", script], **attached)
        table["bpftrace, filter after"] = lambda: Held(["bpftrace", "-e", for_everybody(script)], **attached)
    keep = re.compile(f"nothing|empty pair \\(floor\\)|{args.only}" if args.only else "")
    return {way: held for way, held in table.items() if keep.match(way)}


def for_everybody(script):
    """Counts the records of every process on the library: whoever reads picks out those of one."""
    script = re.sub(r" /pid == \d+(?: && ([^/]*))?/", lambda m: f" /{m[1]}/" if m[1] else "", script)
    return script.replace("[$record]", "[pid, $record]")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--batches", type=int, default=7)
    parser.add_argument("--iocs", type=int, default=1, help="watched IOCs on the library; one is measured")
    parser.add_argument("--no-bpftrace", action="store_true")
    parser.add_argument("--only", help="expression (re) of the ways to measure; nothing and the floor always are")
    args = parser.parse_args()

    program = os.path.join(args.build, "bench", "dbprocess_load")
    with tempfile.TemporaryDirectory() as libraries:
        copy_libraries(args.dbd, libraries)
        watched = Ioc(program, args.dbd, "BENCH_WATCHED", libraries)
        other = Ioc(program, args.dbd, "BENCH_OTHER", libraries)
        more = [Ioc(program, args.dbd, f"BENCH_WATCHED_{i}", libraries) for i in range(2, args.iocs + 1)]
        try:
            report(measure(args, watched, other), args)
        finally:
            for ioc in [watched, other, *more]:
                ioc.stop()


def measure(args, watched, other):
    library = library_of(watched.process.pid)
    table = ways(args, watched, library, offset_in_file(library, "dbProcess"))
    results = {way: {"watched": [], "chain": [], "other": []} for way in table}
    for round_number in range(args.rounds):
        order = list(table)
        random.Random(round_number).shuffle(order)
        for way in order:
            with table[way]():
                results[way]["watched"].append(watched.ns_a_call("BENCH:CALC", args.calls, args.batches))
                results[way]["chain"].append(watched.ns_a_call("BENCH:CHAIN1", args.calls // 5, args.batches) / 5)
                results[way]["other"].append(other.ns_a_call("BENCH:CALC", args.calls, args.batches))
        print(f"round {round_number + 1} of {args.rounds}", file=sys.stderr)
    return results


def report(results, args):
    def added(way, what):
        return statistics.median(a - b for a, b in zip(results[way][what], results["nothing"][what]))

    print(f"ns a dbProcess(), medians of {args.rounds} interleaved rounds of {args.batches} x {args.calls} calls, "
          f"{args.iocs} watched IOCs on the library\n")
    print(f"{'attached':28} {'calc':>7} {'added':>7} {'floor x':>8} {'chain of 5':>11} {'added':>7} {'floor x':>8} {'not watched':>12}")
    floors = {what: added("empty pair (floor)", what) for what in ("watched", "chain")}
    for way, result in results.items():
        cells = [f"{way:28}"]
        for what, width in (("watched", 7), ("chain", 11)):
            more = added(way, what)
            ratio = "" if way == "nothing" else f"{more / floors[what]:.2f}"
            cells.append(f"{statistics.median(result[what]):{width}.0f} {more:7.0f} {ratio:>8}")
        cells.append(f"{statistics.median(result['other']):12.0f}")
        print(" ".join(cells))
    print("\nfloor x: nanoseconds added, against those that the empty pair adds to the same IOC.")


if __name__ == "__main__":
    main()
