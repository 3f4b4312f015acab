#!/usr/bin/env python3
"""What the exporter costs when nothing happens: many IOCs that only scan empty lists, and no clients.

Prints how long it took from the first IOC found to the last one counted, the exporter's CPU time in percent of a
core without a scrape, and the CPU time of a scrape. Several exporters run beside each other on the same IOCs, so that
whatever else the machine does is the same for all.
"""

import argparse
import glob
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

def procserv(args, number):
    """The command that the IOC runs under, with its console on standard output."""
    return ["procServ", "--foreground", "--noautorestart", "--logfile=-", f"--name=idle-{number}",
            str(args.port + args.iocs + number)] if args.procserv else []


def end_all(iocs):
    for ioc in iocs:
        with open(f"/proc/{ioc.pid}/task/{ioc.pid}/children") as children:
            under_procserv = [int(pid) for pid in children.read().split()]
        ioc.kill()
        for pid in under_procserv:
            os.kill(pid, signal.SIGKILL)
    for ioc in iocs:
        ioc.wait()


def start_iocs(args, folder):
    database = folder / "idle.db"
    database.write_text("".join(f'record(calc,"$(P)n{i}"){{field(CALC,"VAL+1")}}\n' for i in range(args.records)))
    libraries = folder / "lib"  # that nobody else runs
    libraries.mkdir()
    for library in args.base.glob("lib/lib*.so*"):
        shutil.copy2(library, libraries)
    iocs = []
    for i in range(args.iocs):
        environment = {**os.environ, "IOCNAME": f"idle-{i}", "LD_LIBRARY_PATH": str(libraries),
                       "EPICS_CA_SERVER_PORT": str(args.port + i), "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1",
                       "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_CAS_BEACON_ADDR_LIST": "127.0.0.1",
                       "EPICS_CA_ADDR_LIST": "127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST": "NO"}
        if args.procserv:
            environment.pop("IOCNAME")
        iocs.append(subprocess.Popen([*procserv(args, i), args.ioc, args.base / "dbd", f"P=I{i}:", database], env=environment,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
    for ioc in iocs:
        for line in ioc.stdout:
            if line.rstrip() == b"@running":
                break
        else:
            sys.exit("idle.py: an IOC does not start")
    return iocs


def cpu_ns(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path) as times:
            total += int(times.read().split()[0])
    return total


def with_children(pid):
    """The process and what it started."""
    children = [child for path in glob.glob(f"/proc/{pid}/task/*/children") for child in open(path).read().split()]
    return [pid, *(one for child in children for one in with_children(int(child)))]


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def seconds_of_day(line):
    hours, minutes, seconds = re.search(r"T(\d+):(\d+):([\d.]+)Z", line).groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def wait_counted(log, count):
    for _ in range(3000):
        lines = log.read_text().splitlines()
        counting = [line for line in lines if "counting" in line]
        address = re.search(r"listening on \S*?(127\.0\.0\.1:\d+)", "\n".join(lines))
        if len(counting) == count and address:
            found = next(line for line in lines if "found ioc" in line)
            return seconds_of_day(counting[-1]) - seconds_of_day(found), address[1]
        time.sleep(0.1)
    sys.exit(f"idle.py: not all IOCs are counted:\n{log.read_text()[-3000:]}")


class Exporter:
    def __init__(self, args, program, log):
        self.program, self.idle, self.scrapes, self.waits = program, [], [], []
        names = ["--ioc.name-source=procserv"] if args.procserv else []
        with open(log, "w") as out:
            self.process = subprocess.Popen([program, "--web.listen-address=127.0.0.1:0",
                                             "--ioc.include=idle-.*", *names, *args.options], stdout=out, stderr=out)
        self.attached, self.address = wait_counted(log, args.iocs)
        self.found = cpu_ns(self.process.pid) / 1e9

    def begin_round(self):
        self.before, self.began = cpu_ns(self.process.pid), time.monotonic()

    def end_round(self):
        used = cpu_ns(self.process.pid) - self.before
        self.idle.append(used / (time.monotonic() - self.began) / 1e7)

    def scrape(self):
        before, began = cpu_ns(self.process.pid), time.monotonic()
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=60) as page:
            page.read()
        self.waits.append((time.monotonic() - began) * 1e3)
        self.scrapes.append((cpu_ns(self.process.pid) - before) / 1e6)

    def report(self, args):
        print(f"{self.program}: from the first IOC found to all {args.iocs} counted: {self.attached:.2f} s, "
              f"{self.found:.2f} s of CPU time; "
              f"idle: {statistics.median(self.idle):.3f} % of a core (rounds: "
              f"{', '.join(f'{x:.3f}' for x in self.idle)}); "
              f"a scrape: {statistics.median(self.scrapes):.1f} ms of CPU time in {statistics.median(self.waits):.1f} ms; "
              + "; ".join(f"process {pid}: {resident_kib(pid) / 1024:.1f} MB, {len(os.listdir(f'/proc/{pid}/fd'))} descriptors"
                          for pid in with_children(self.process.pid)))

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure(args, folder):
    exporters = []
    try:
        for program in args.exporter:
            exporters.append(Exporter(args, program, folder / f"exporter-{len(exporters)}.log"))
        time.sleep(args.settle)
        for _ in range(args.rounds):
            for exporter in exporters:
                exporter.begin_round()
            time.sleep(args.seconds)
            for exporter in exporters:
                exporter.end_round()
            for exporter in exporters:
                exporter.scrape()
        for exporter in exporters:
            exporter.report(args)
    finally:
        for exporter in exporters:
            exporter.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--exporter", required=True, action="append", help="several: beside each other")
    parser.add_argument("--ioc", required=True)
    parser.add_argument("--base", required=True, type=pathlib.Path)
    parser.add_argument("--iocs", type=int, default=100)
    parser.add_argument("--procserv", action="store_true", help="each IOC under a procServ, which names it")
    parser.add_argument("--records", type=int, default=50, help="of each IOC")
    parser.add_argument("--port", type=int, default=21000, help="of the first IOC; the others follow")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=20, help="of each round")
    parser.add_argument("--settle", type=int, default=15, help="seconds after which nothing is new to the exporter any more")
    parser.add_argument("options", nargs="*", help="for the exporter, after --")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        iocs = []
        try:
            iocs = start_iocs(args, pathlib.Path(folder))
            measure(args, pathlib.Path(folder))
        finally:
            end_all(iocs)


if __name__ == "__main__":
    main()
