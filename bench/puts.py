#!/usr/bin/env python3
"""What watching the packets costs a flood of puts, beside the floor and a peer.

A real IOC and libca's client on loopback; with --qsrv its PV Access server and p4p's client. Interleaved: each round
sends the same flood once in every way,
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
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tests/tools"
EMPTY_ENTRY = "empty entry of the server"
FLOODS = {  # name: (operation, PVs, elements, rounds over the PVs, rounds between two flushes)
    "1 PV": ("put", 1, 1, 1_000_000, 1000),
    "200 PVs": ("put", 200, 1, 5_000, 10),
    "72 KB arrays": ("put", 1, 9000, 10_000, 10),
    "put-callback": ("notify", 1, 1, 20_000, 1),
}
PVA_FLOODS = {"PV Access, 1 PV": ("put", 1, 1, 10_000, 1), "PV Access, 200 PVs": ("put", 200, 1, 50, 1)}
# Which each put enters: of rsrv, and of QSRV 1 and 2.
PUT_FUNCTIONS = {None: ("libdbCore", r"write(?:_notify)?_action"), 1: ("libqsrv", r"_ZN12PDBSinglePut3put\S*"),
                 2: ("libpvxsIoc", r"_ZNSt17_Function_handler\S*ExecOp\S*SingleInfo\S*_M_invoke\S*")}


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
    def __init__(self, binary, *options, protocol="ca"):
        super().__init__([binary, "--web.listen-address=127.0.0.1:0", "--no-collector.records", "--ioc.include=BENCH",
                          "--overhead.budget=0", *options])
        self.port = self.wait_for(r"listening on 127\.0\.0\.1:(\d+)")[1]
        deadline = time.monotonic() + 30
        source = "packets" if "--no-server-probe" in options else "server"
        hears = f'epics_ioc_put_source{{ioc="BENCH",protocol="{protocol}",source="{source}"}} 1'
        while not all(line in self.metrics() for line in ('epics_ioc_up{ioc="BENCH"} 1', hears)):
            if time.monotonic() > deadline:
                sys.exit("puts.py: the exporter does not find the IOC")
            time.sleep(0.1)

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            return answer.read().decode()

    def sum_of(self, family, labels=""):
        lines = re.findall(rf"^{family}\{{([^}}]*)\}} (\S+)$", self.metrics(), re.M)
        return sum(float(value) for text, value in lines if labels in text)


def pva_environment(port):
    return {"PVXS_QSRV_ENABLE": "YES", "EPICS_PVAS_SERVER_PORT": str(port), "EPICS_PVAS_BROADCAST_PORT": str(port + 1),
            "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
            "EPICS_PVAS_BEACON_ADDR_LIST": "127.0.0.1", "EPICS_PVA_ADDR_LIST": "127.0.0.1",
            "EPICS_PVA_AUTO_ADDR_LIST": "NO", "EPICS_PVA_BROADCAST_PORT": str(port + 1)}


def start_ioc(args, directory, port, name="BENCH", more=None, qsrv=None):
    """`more`: of its environment."""
    database = pathlib.Path(directory) / "bench.db"
    database.write_text("".join(f'record(ao,"B:{i}"){{}}\n' for i in range(PVS)) +
                        'record(waveform,"B:WF"){field(FTVL,"DOUBLE") field(NELM,"9000")}\n')
    environment = {"EPICS_CA_SERVER_PORT": str(port), "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1", "IOCNAME": name,
                   "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_CAS_BEACON_ADDR_LIST": "127.0.0.1", **(more or {})}
    command = [args.build / "tests/e2e/tools/ioc_launcher_7.0.10", args.dbd, "", database]
    if qsrv:
        environment |= pva_environment(args.pva_port)
        command = [args.python, TOOLS / "python_ioc.py", "--qsrv", qsrv, "", database]
    ioc = Tool(command, environment)
    ioc.wait_for("^@running$")
    return ioc


def put_functions(pid, qsrv):
    """(file, offsets) of those in the IOC."""
    library, name = PUT_FUNCTIONS[qsrv]
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text()
    file = re.search(rf"(/\S*{library}\S*)", maps)[1]
    symbols = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout
    addresses = re.findall(rf"^([0-9a-f]+) [tT] {name}$", symbols, re.M)
    segments = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout
    at, virtual = next((int(a, 16), int(v, 16)) for a, v, flags in re.findall(
        r"LOAD +(\S+) (\S+) \S+ \S+ \S+ (R E)", segments))
    return file, [int(address, 16) - virtual + at for address in addresses]


def flood(args, port, name):
    """(seconds, puts) of one flood; its channels are open before the clock starts."""
    operation, pvs, elements, count, batch = args.floods[name]
    count = max(1, int(count * args.scale))
    names = ["B:WF"] if elements > 1 else [f"B:{i}" for i in range(pvs)]
    environment = {"EPICS_CA_ADDR_LIST": f"127.0.0.1:{port}", "EPICS_CA_AUTO_ADDR_LIST": "NO",
                   "EPICS_CA_MAX_ARRAY_BYTES": "1000000"}
    command = [args.build / "tests/e2e/tools/ca_flood", count, operation, "double", elements, batch, *names]
    if args.qsrv:
        environment = pva_environment(args.pva_port)
        command = [args.python, TOOLS / "put_p4p.py", count, *(word for name in names for word in (name, 1))]
    client = Tool(command, environment)
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

    def exporter(self, *options):
        return Exporter(self.args.build / "ioc_exporter", *options, protocol="pva" if self.args.qsrv else "ca")

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
        tool = self.exporter("--no-server-probe")
        yield
        tool.end()

    @contextlib.contextmanager
    def ioc_exporter(self):
        tool = self.exporter()
        before = tool.cpu_seconds(), tool.sum_of("epics_puts_total")
        yield
        counted = tool.sum_of("epics_puts_total") - before[1]
        dropped = tool.sum_of("ioc_exporter_dropped_total")
        self.notes["ioc_exporter"].append((tool.cpu_seconds() - before[0], counted, dropped))
        tool.end()

    @contextlib.contextmanager
    def tcpdump(self):
        tool = Tool(["tcpdump", "-i", "lo", "-w", "/dev/null", "tcp", "port",
                     str(self.args.pva_port if self.args.qsrv else self.args.port)])
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
    probe = "pva_server_probe" if args.qsrv else "ca_tap"
    print(f"\nns of {probe} a put, by kernel.bpf_stats_enabled (both directions of the circuit), medians")
    try:
        setting.write_text("1")
        for name in args.floods:
            exporter = Ways(args).exporter()
            figures = []
            for _ in range(args.rounds):
                start = exporter.sum_of("ioc_exporter_probe_run_seconds_total", f'probe="{probe}"')
                _, puts = flood(args, args.port, name)
                used = exporter.sum_of("ioc_exporter_probe_run_seconds_total", f'probe="{probe}"') - start
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
    parser.add_argument("--qsrv", type=int, choices=(1, 2), help="puts by PV Access, to QSRV 1 or 2")
    parser.add_argument("--no-tcpdump", action="store_true")
    parser.add_argument("--only", default="", help="expression (re) of the floods")
    args = parser.parse_args()
    args.pva_port, args.floods = args.port + 10, PVA_FLOODS if args.qsrv else FLOODS
    args.python = pathlib.Path(".cache/test-env/venv/bin/python")
    with tempfile.TemporaryDirectory() as directory:
        ioc = start_ioc(args, directory, args.port, qsrv=args.qsrv)
        args.ioc = ioc.process.pid
        args.server, args.entries = put_functions(args.ioc, args.qsrv)
        try:
            for name in filter(re.compile(args.only).match, args.floods):
                measure(args, name)
            nanoseconds_a_put(args)
        finally:
            ioc.end()


if __name__ == "__main__":
    main()
