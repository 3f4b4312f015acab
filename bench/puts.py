#!/usr/bin/env python3
"""What watching the packets costs a flood of puts, beside the floor and a peer.

A real IOC and libca's client on loopback. Interleaved: each round sends the same flood once in every way,
in another order; the time is the client's, from its first put to the IOC's answer to a get behind the
last. "x" is the median of the rounds' ratios to the same round's run with nothing attached. Then, apart
from the timing, kernel.bpf_stats_enabled tells the nanoseconds of the tap for each put.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

PVS = 200
EMPTY_ENTRY = "empty entry of the server"
FLOODS = {  # name: (operation, PVs, elements, rounds over the PVs, rounds between two flushes)
    "1 PV": ("put", 1, 1, 1_000_000, 1000),
    "200 PVs": ("put", 200, 1, 5_000, 10),
    "72 KB arrays": ("put", 1, 9000, 10_000, 10),
    "put-callback": ("notify", 1, 1, 20_000, 1),
}


class Tool:
    """A child process whose output is read line by line."""

    def __init__(self, command, environment=None, **options):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=self.log,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})},
                                        **options)

    def wait_for(self, pattern, timeout=120.0):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            match = re.search(pattern, pathlib.Path(self.log.name).read_text(errors="replace"), re.M)
            if match:
                return match
            if self.process.poll() is not None:
                break
            time.sleep(0.001)
        sys.exit(f"puts.py: {self.process.args[0]} said no {pattern!r}:\n{pathlib.Path(self.log.name).read_text()[-2000:]}")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def text(self):
        return pathlib.Path(self.log.name).read_text(errors="replace")

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()


class Exporter(Tool):
    def __init__(self, binary, *options):
        super().__init__([binary, "--web.listen-address=127.0.0.1:0", "--no-collector.records", "--ioc.include=BENCH",
                          "--overhead.budget=0", *options])
        self.port = self.wait_for(r"listening on 127\.0\.0\.1:(\d+)")[1]
        deadline = time.monotonic() + 30
        hears = "--no-server-probe" in options or 'epics_ioc_put_source{ioc="BENCH",protocol="ca",source="server"} 1'
        while not all(line is True or line in self.metrics() for line in ('epics_ioc_up{ioc="BENCH"} 1', hears)):
            if time.monotonic() > deadline:
                sys.exit("puts.py: the exporter does not find the IOC")
            time.sleep(0.1)

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return answer.read().decode()

    def sum_of(self, family, labels=""):
        lines = re.findall(rf"^{family}\{{([^}}]*)\}} (\S+)$", self.metrics(), re.M)
        return sum(float(value) for text, value in lines if labels in text)


def start_ioc(args, directory, port, name="BENCH", more=None):
    """`more`: of its environment."""
    database = pathlib.Path(directory) / "bench.db"
    database.write_text("".join(f'record(ao,"B:{i}"){{}}\n' for i in range(PVS)) +
                        'record(waveform,"B:WF"){field(FTVL,"DOUBLE") field(NELM,"9000")}\n')
    environment = {"EPICS_CA_SERVER_PORT": str(port), "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1", "IOCNAME": name,
                   "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_CAS_BEACON_ADDR_LIST": "127.0.0.1", **(more or {})}
    ioc = Tool([args.build / "tests/e2e/tools/ioc_launcher_7.0.10", args.dbd, "", database], environment)
    ioc.wait_for("^@running$")
    return ioc


def write_functions(pid):
    """(file, offsets) of rsrv's write_action and write_notify_action in the IOC."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    file = re.search(r"(/\S*libdbCore\S*)", maps)[1]
    symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    addresses = re.findall(r"^([0-9a-f]+) t write(?:_notify)?_action$", symbols, re.M)
    segments = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout
    at, virtual = next((int(a, 16), int(v, 16)) for a, v, flags in re.findall(
        r"LOAD +(\S+) (\S+) \S+ \S+ \S+ (R E)", segments))
    return file, [int(address, 16) - virtual + at for address in addresses]


def flood(args, port, name):
    """(seconds, puts) of one flood; its channels are open before the clock starts."""
    operation, pvs, elements, count, batch = FLOODS[name]
    count = max(1, int(count * args.scale))
    names = ["B:WF"] if elements > 1 else [f"B:{i}" for i in range(pvs)]
    environment = {"EPICS_CA_ADDR_LIST": f"127.0.0.1:{port}", "EPICS_CA_AUTO_ADDR_LIST": "NO",
                   "EPICS_CA_MAX_ARRAY_BYTES": "1000000"}
    client = Tool([args.build / "tests/e2e/tools/ca_flood", count, operation, "double", elements, batch, *names],
                  environment)
    client.wait_for("^@connected$")
    began = time.monotonic()
    client.send("go")
    puts = int(client.wait_for(r"^@sent (\d+)$", 600)[1])
    seconds = time.monotonic() - began
    client.end()
    return seconds, puts


class Ways:
    """What can be attached while a flood runs; each says afterwards what it used and what it missed."""

    def __init__(self, args):
        self.args = args
        self.notes = {"tcpdump": [], "ioc_exporter": []}

    @contextlib.contextmanager
    def nothing(self):
        yield

    @contextlib.contextmanager
    def empty_filter(self):
        tool = Tool([self.args.build / "bench/empty_filter"])
        tool.wait_for("attached")
        yield
        tool.end()

    @contextlib.contextmanager
    def empty_entry(self):
        """The floor of the server's own word: an empty probe at the entry of its two functions."""
        tools = [Tool([self.args.build / "bench/empty_probes", self.args.server, offset, self.args.ioc, "entry"])
                 for offset in self.args.entries]
        for tool in tools:
            tool.wait_for("attached")
        yield
        for tool in tools:
            tool.end()

    @contextlib.contextmanager
    def packets_alone(self):
        tool = Exporter(self.args.build / "ioc_exporter", "--no-server-probe")
        yield
        tool.end()

    @contextlib.contextmanager
    def ioc_exporter(self):
        tool = Exporter(self.args.build / "ioc_exporter")
        before = tool.cpu_seconds(), tool.sum_of("epics_puts_total")
        yield
        counted = tool.sum_of("epics_puts_total") - before[1]
        dropped = tool.sum_of("ioc_exporter_dropped_total")
        self.notes["ioc_exporter"].append((tool.cpu_seconds() - before[0], counted, dropped))
        tool.end()

    @contextlib.contextmanager
    def tcpdump(self):
        tool = Tool(["tcpdump", "-i", "lo", "-w", "/dev/null", "tcp", "port", str(self.args.port)])
        tool.wait_for("listening on")
        yield
        seconds = tool.cpu_seconds()
        tool.process.terminate()
        tool.process.wait()
        seen = [int(n) for n in re.findall(r"^(\d+) packets? (?:received|dropped)", tool.text(), re.M)]
        self.notes["tcpdump"].append((seconds, seen[0], seen[1]))

    def table(self):
        ways = {"nothing": self.nothing, "filter that returns 0": self.empty_filter,
                "ioc_exporter, packets alone": self.packets_alone, EMPTY_ENTRY: self.empty_entry,
                "ioc_exporter": self.ioc_exporter}
        return ways if self.args.no_tcpdump else {**ways, "tcpdump -w /dev/null": self.tcpdump}


def cpu_of_process(pid):
    """In seconds, of threads that have ended, too: a circuit's thread ends with its client. See clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def against(results, way, floor):
    """Of the same round each."""
    return statistics.median(a / b for a, b in zip(results[way], results[floor]))


def measure(args, name):
    ways = Ways(args)
    times = {way: [] for way in ways.table()}
    used = {way: [] for way in times}
    puts = 0
    for number in range(args.rounds):
        order = list(ways.table())
        random.Random(number).shuffle(order)
        for way in order:
            with ways.table()[way]():
                before = cpu_of_process(args.ioc)
                seconds, puts = flood(args, args.port, name)
                used[way].append(cpu_of_process(args.ioc) - before)
            times[way].append(seconds)
    print(f"\n{name}: {puts} puts a flood, {args.rounds} rounds")
    for way, seconds in times.items():
        ratio = against(times, way, "nothing")
        added = statistics.median(a - b for a, b in zip(seconds, times["nothing"])) / puts * 1e9
        print(f"  {way:28} {puts / statistics.median(seconds):12,.0f} puts/s   x {ratio:.2f}   + {added:,.0f} ns a put"
              f"   CPU of the IOC x {against(used, way, 'nothing'):.2f}, of the empty entry x {against(used, way, EMPTY_ENTRY):.2f}")
    for seconds, counted, dropped in ways.notes["ioc_exporter"]:
        if counted != puts or dropped:
            print(f"  NOT EXACT: ioc_exporter counted {counted:.0f} of {puts}, dropped {dropped:.0f}")
    print(f"  ioc_exporter: {statistics.median(n[0] for n in ways.notes['ioc_exporter']):.2f} s of CPU, every flood exact"
          if all(n[1] == puts for n in ways.notes["ioc_exporter"]) else "  ioc_exporter: see above")
    if ways.notes["tcpdump"]:
        received = sum(n[1] for n in ways.notes["tcpdump"])
        dropped = sum(n[2] for n in ways.notes["tcpdump"])
        print(f"  tcpdump: {statistics.median(n[0] for n in ways.notes['tcpdump']):.2f} s of CPU, dropped {dropped} packets "
              f"of {received} ({100 * dropped / max(received, 1):.1f} %)")


def nanoseconds_a_put(args):
    """By the kernel's own statistics, which cost time themselves: apart from the floods above."""
    setting = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = setting.read_text()
    print("\nns of the tap a put, by kernel.bpf_stats_enabled (both directions of the circuit), medians")
    try:
        setting.write_text("1")
        for name in FLOODS:
            exporter = Exporter(args.build / "ioc_exporter")
            figures = []
            for _ in range(args.rounds):
                start = exporter.sum_of("ioc_exporter_probe_run_seconds_total", 'probe="ca_tap"')
                _, puts = flood(args, args.port, name)
                used = exporter.sum_of("ioc_exporter_probe_run_seconds_total", 'probe="ca_tap"') - start
                figures.append(used / puts * 1e9)
            exporter.end()
            print(f"  {name:24} {statistics.median(figures):8.1f}")
    finally:
        setting.write_text(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--dbd", required=True, type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of puts in a flood")
    parser.add_argument("--port", type=int, default=17064, help="of the IOC")
    parser.add_argument("--no-tcpdump", action="store_true")
    parser.add_argument("--only", default="", help="expression (re) of the floods")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        ioc = start_ioc(args, directory, args.port)
        args.ioc = ioc.process.pid
        args.server, args.entries = write_functions(args.ioc)
        try:
            for name in filter(re.compile(args.only).match, FLOODS):
                measure(args, name)
            nanoseconds_a_put(args)
        finally:
            ioc.end()


if __name__ == "__main__":
    main()
