#!/usr/bin/env python3
"""How far the counts of an IOC over --overhead.budget are from the truth, and what it pays.

A real IOC with 5,000 records at 10 Hz, none of them fast; some are set off by an event, by writes that come in bursts,
some complete later, some are processed at times only. Each counts its own processing, in its VAL. Interleaved: each
round has every budget once, in another order, beside an empty entry and return probe and nothing, on the same IOC.
"ratio" is ioc_exporter_record_sampling_ratio, "CPU added" what the IOC takes more than with nothing, "pair x" the same
in multiples of what the empty pair adds (medians of the rounds); the others are the worst deviation of a minute, in
percent, of what was counted from what was processed in it.
"""

import argparse
import os
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

from attached import Answering, Exporter, Nothing, copy_libraries, cpu_seconds, empty_probes, ioc_environment

IOC = "BENCH_ESTIMATES"
PERIODIC = 5000
# Kind: the records that are compared, each of which counts in VAL.
KINDS = {
    "periodic": ["P:0", "P:777", f"P:{PERIODIC - 1}", "S:3", "S:FLNK:3"],
    "events": ["E:0", "E:29"],
    "writes": ["W"],
    "asynchronous": ["A:0", "A:19"],
    "on completion": ["A:OUT:7", "A:FLNK:7"],
    "one pass in three": ["T:OUT"],
    "met active": ["M"],
}
RECORDS = [record for records in KINDS.values() for record in records]


def database():
    def counting(name, fields=""):
        return f'record(calc,"{name}"){{field(CALC,"VAL+1") {fields}}}'

    lines = [counting(f"P:{i}", 'field(SCAN,".1 second")') for i in range(PERIODIC)]
    for i in range(50):
        lines += [counting(f"S:{i}", f'field(SCAN,"1 second") field(FLNK,"S:FLNK:{i}")'), counting(f"S:FLNK:{i}")]
    lines += [counting(f"E:{i}", 'field(SCAN,"Event") field(EVNT,"go")') for i in range(30)]
    lines += ['record(event,"FIRE"){field(VAL,"go")}', counting("W")]
    for i in range(20):
        lines += [f'record(calcout,"A:{i}"){{field(CALC,"VAL+1") field(SCAN,".5 second") field(ODLY,"0.05") '
                  f'field(OUT,"A:OUT:{i}.PROC PP") field(FLNK,"A:FLNK:{i}")}}',
                  counting(f"A:OUT:{i}"), counting(f"A:FLNK:{i}")]
    lines += ['record(calc,"T"){field(CALC,"(VAL+1)%3") field(SCAN,".2 second") field(FLNK,"T:IF")}',
              'record(calcout,"T:IF"){field(INPA,"T") field(CALC,"A=0") field(OOPT,"When Non-zero") '
              'field(OUT,"T:OUT.PROC PP")}', counting("T:OUT"),
              'record(calcout,"M"){field(CALC,"VAL+1") field(SCAN,".5 second") field(ODLY,"0.7")}']
    return "\n".join([*lines, ""])


class Load:
    def __init__(self, args, directory, libraries):
        file = pathlib.Path(directory, "load.db")
        file.write_text(database(), encoding="ascii")
        self.ioc = Answering([os.path.join(args.build, "bench", "ioc_load"), args.dbd, str(file)],
                             ioc_environment(IOC, libraries))
        self.pid = self.ioc.process.pid
        self.random = random.Random(7)

    def ask(self, line):
        self.ioc.tell(line)
        return self.ioc.numbers()

    def run(self, seconds):
        """Writes and events, now few and now many; the share of a core that the IOC took, in percent."""
        cpu, start = cpu_seconds(self.pid), time.monotonic()
        while time.monotonic() < start + seconds:
            self.ask(f"put FIRE.PROC {self.random.randint(0, 4)}")
            if self.random.random() < 0.15:
                self.ask(f"put W.PROC {self.random.randint(20, 60)}")
            time.sleep(self.random.uniform(0.05, 0.4))
        return 100 * (cpu_seconds(self.pid) - cpu) / (time.monotonic() - start)

    def processed(self):
        return dict(zip(RECORDS, self.ask("get " + " ".join(f"{record}.VAL" for record in RECORDS))))


def read(exporter):
    """(counts by record, sampling ratio)"""
    page = exporter.page()
    counts = dict.fromkeys(RECORDS, 0.0)
    for record, count in re.findall(r'^epics_record_process_total{[^}]*record="([^"]*)"[^}]*} (\S+)$', page, re.M):
        if record in counts:
            counts[record] = float(count)
    return counts, float(re.search(r"^ioc_exporter_record_sampling_ratio{[^}]*} (\S+)$", page, re.M)[1])


def watch(args, load, budget):
    """The worst of some minutes with the budget, by kind."""
    with Exporter(args.build, IOC, f"--overhead.budget={budget}") as exporter:
        load.run(args.settle)
        worst, shares = dict.fromkeys(KINDS, 0.0), []
        counted, _ = read(exporter)
        truth = load.processed()
        for _ in range(args.minutes):
            shares.append(load.run(60))
            before, was = counted, truth
            counted, ratio = read(exporter)
            truth = load.processed()
            for kind, records in KINDS.items():
                for record in records:
                    true = truth[record] - was[record]
                    off = 100 * (counted[record] - before[record] - true) / true
                    worst[kind] = max(worst[kind], off, key=abs)
        return {"share": statistics.median(shares), "ratio": ratio, **worst}


def measure(args):
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as libraries:
        copy_libraries(args.dbd, libraries)
        load = Load(args, directory, libraries)
        budgets = args.budgets.split(",")
        results = {way: [] for way in ["nothing", "pair", *budgets]}
        try:
            load.run(3)
            for round_number in range(args.rounds):
                order = list(results)
                random.Random(round_number).shuffle(order)
                for way in order:
                    if way in budgets:
                        results[way].append(watch(args, load, way))
                        continue
                    with Nothing() if way == "nothing" else empty_probes(args.build, load.pid):
                        results[way].append({"share": load.run(args.seconds)})
                print(f"round {round_number + 1} of {args.rounds}", file=sys.stderr)
        finally:
            load.ioc.stop()
    return results


def report(results):
    def added(way):
        return statistics.median(one["share"] - none["share"] for one, none in zip(results[way], results["nothing"]))

    print(f"| budget % | ratio | CPU added % | pair x | {' | '.join(KINDS)} |\n" + "|---" * (len(KINDS) + 4) + "|")
    print(f"| an empty pair | | {added('pair'):.1f} | 1.00 |" + " |" * len(KINDS))
    for way, rounds in results.items():
        if "ratio" not in rounds[0]:
            continue
        ratio = statistics.median(one["ratio"] for one in rounds)
        kinds = " | ".join(f"{max((one[kind] for one in rounds), key=abs):+.1f}" for kind in KINDS)
        print(f"| {way} | {ratio:.3f} | {added(way):.1f} | {added(way) / added('pair'):.2f} | {kinds} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=int, default=2, help="of each budget in a round")
    parser.add_argument("--seconds", type=float, default=15, help="of nothing, and of the pair")
    parser.add_argument("--settle", type=float, default=100, help="seconds until a budget's minutes begin")
    parser.add_argument("--budgets", default="5,2,1", help="of --overhead.budget, percent of a core")
    report(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
