#!/usr/bin/env python3
"""A long life in short: clients that come and go for minutes, and very many channels at once.

Prints what the exporter holds and costs meanwhile, and at the end whether its counts are exact and its
tables empty again. Exit status 1 when they are not.
"""

import argparse
import glob
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PVS = 1000


class Exporter:
    def __init__(self, program, options):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "--web.listen-address=127.0.0.1:0", *options],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        self.url = None
        for _ in range(300):
            self.log.seek(0)
            found = re.search(r"listening on \S*?(127\.0\.0\.1:\d+)", self.log.read())
            if found:
                self.url = f"http://{found[1]}/metrics"
                return
            time.sleep(0.1)
        self.log.seek(0)
        sys.exit(f"life.py: the exporter does not start:\n{self.log.read()}")

    def scrape(self):
        """Sums over the series of each name, but for what has a label of interest."""
        sums = {}
        with urllib.request.urlopen(self.url, timeout=60) as page:
            self.bytes = 0
            for line in page:
                self.bytes += len(line)
                if line.startswith(b"#"):
                    continue
                series, value = line.decode().rsplit(" ", 1)
                name = series.split("{", 1)[0]
                label = re.search(r'\{(?:.*,)?(?:map|reason|collector)="([^"]*)"', series)
                key = f"{name}/{label[1]}" if label and name.startswith("ioc_exporter_") else name
                sums[key] = sums.get(key, 0.0) + float(value)
        return sums

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

    def maps_mb(self):
        """What the kernel charges for the exporter's BPF maps, each counted once."""
        maps = {}
        for path in glob.glob(f"/proc/{self.process.pid}/fdinfo/*"):
            try:
                with open(path, encoding="ascii") as info:
                    text = info.read()
            except FileNotFoundError:
                continue
            found = re.search(r"memlock:\s+(\d+)", text), re.search(r"map_id:\s+(\d+)", text)
            if all(found):
                maps[found[1][1]] = int(found[0][1])
        return sum(maps.values()) / 2**20

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Watch:
    """One line for each look, with the CPU time since the one before."""

    HEADER = f"{'':24} {'s':>6} {'RSS MB':>8} {'maps MB':>8} {'CPU %':>6} {'channels':>9} {'circuits':>9} {'scrape s':>9} {'MB':>6}"

    def __init__(self, exporter):
        self.exporter, self.start = exporter, time.monotonic()
        self.at, self.cpu = self.start, exporter.cpu_seconds()
        print(self.HEADER)

    def look(self, what):
        cpu, now = self.exporter.cpu_seconds(), time.monotonic()
        share = (cpu - self.cpu) / max(now - self.at, 1e-9) * 100
        began = time.monotonic()
        sums = self.exporter.scrape()
        took = time.monotonic() - began
        print(f"{what:24} {now - self.start:6.0f} {self.exporter.memory_mb():8.1f} {self.exporter.maps_mb():8.1f} "
              f"{share:6.2f} {sums['ioc_exporter_map_entries/ca_channels']:9.0f} "
              f"{sums['ioc_exporter_map_entries/ca_circuits']:9.0f} {took:9.3f} {self.exporter.bytes / 1e6:6.1f}", flush=True)
        self.at, self.cpu = time.monotonic(), self.exporter.cpu_seconds()
        return sums

    def wait(self, seconds, what, every=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(every, max(0.0, end - time.monotonic())))
            self.look(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ioc(args, port, directory):
    database = os.path.join(directory, "life.db")
    with open(database, "w", encoding="ascii") as out:
        out.writelines(f'record(ao, "LIFE:{i}") {{}}\n' for i in range(PVS))
    environment = dict(os.environ, IOCNAME="LIFE", EPICS_CA_SERVER_PORT=str(port),
                       EPICS_CAS_INTF_ADDR_LIST="127.0.0.1", EPICS_CAS_BEACON_ADDR_LIST="127.0.0.1",
                       EPICS_CAS_AUTO_BEACON_ADDR_LIST="NO")
    return subprocess.Popen([args.ioc, args.dbd, "", database], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def puts_of(output):
    return int(re.search(r"^puts (\d+)$", output, re.M)[1])


def churn(args, port, watch):
    client = subprocess.Popen([args.clients, str(port), "churn", str(args.seconds), str(args.per_minute), str(PVS)],
                              stdout=subprocess.PIPE, text=True)
    while client.poll() is None:
        try:
            client.wait(30)
        except subprocess.TimeoutExpired:
            watch.look("come and go")
    output = client.stdout.read()
    print(output.splitlines()[0])
    return puts_of(output)


def hold(args, port, watch):
    circuits = max(1, args.channels // PVS)
    client = subprocess.Popen([args.clients, str(port), "hold", str(circuits), str(PVS), str(PVS)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline().strip() == "@open"
    watch.look("channels open")
    watch.wait(30, "idle", every=15)
    for _ in range(3):
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline().strip() == "@sent"
        watch.look("a put to each")
    watch.wait(30, "idle", every=15)
    client.stdin.close()
    puts = puts_of(client.stdout.read())
    client.wait()
    return puts


def verdict(sums, puts, before):
    """What is not as it must be."""
    wrong = []
    if sums.get("epics_puts_total", 0) != puts:
        wrong.append(f"puts counted {sums.get('epics_puts_total', 0):.0f}, sent {puts}")
    for name in ("ca_channels", "ca_circuits"):
        if sums[f"ioc_exporter_map_entries/{name}"] != 0:
            wrong.append(f"{name} holds {sums[f'ioc_exporter_map_entries/{name}']:.0f} entries")
    for key, value in sums.items():
        if key.startswith("ioc_exporter_dropped_total/") and value != before.get(key, 0):
            wrong.append(f"{key.split('/')[1]}: {value - before.get(key, 0):.0f}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", required=True, help="bench/ca_clients")
    parser.add_argument("--exporter", required=True)
    parser.add_argument("--ioc", required=True, help="ioc_launcher_<base>")
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--seconds", type=float, default=600, help="that clients come and go (600)")
    parser.add_argument("--per-minute", type=float, default=10000, help="circuits (10000)")
    parser.add_argument("--channels", type=int, default=100000, help="at once (100000)")
    parser.add_argument("option", nargs="*", help="more options for the exporter")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        ioc = start_ioc(args, port, directory)
        exporter = Exporter(args.exporter, ["--ioc.include=LIFE", *args.option])
        try:
            while exporter.scrape().get("epics_ioc_up", 0) != 1:
                time.sleep(0.5)
            time.sleep(2)  # its port is watched by now
            before = exporter.scrape()
            watch = Watch(exporter)
            watch.look("start")
            puts = churn(args, port, watch) if args.seconds else 0
            watch.wait(70, "afterwards", every=35)
            puts += hold(args, port, watch) if args.channels else 0
            watch.wait(105, "afterwards", every=35)
            wrong = verdict(watch.look("end"), puts, before)
        finally:
            exporter.stop()
            ioc.kill()
            ioc.wait()
    print(f"{puts} puts sent. " + ("Counted exactly; the tables are empty again." if not wrong else "WRONG: " + "; ".join(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
