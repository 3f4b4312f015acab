"""A simulated site on a real Prometheus: what its dashboards and rules cost there. See bench/README.md.

The past is written into it (site_backfill.py). Then the pages of the present are scraped, the rules are switched on, and
every group and every panel's query is timed.
"""
import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/e2e"))
from harness.grafana import by_name, dashboards, fill, step_of  # noqa: E402
from harness.ports import free_port  # noqa: E402

from site_backfill import Backfill  # noqa: E402
from site_pages import Site  # noqa: E402

STEP = 60  # seconds from scrape to scrape
ONE_IOC = "ioc002-04"  # that the dashboard Records looks at
CONFIG = """
global: {{scrape_interval: {interval}s, scrape_timeout: {interval}s, evaluation_interval: {rule_interval}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: ioc_exporter
    metrics_path: /metrics
    relabel_configs:
      - {{source_labels: [__param_host], target_label: instance, replacement: "host${{1}}:10064"}}
    static_configs: {targets}
"""


class Pages:
    """Serves the pages of the present."""

    def __init__(self, site: Site):
        self.site = site
        self.lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler):  # noqa: N802, N805
                number = int(urllib.parse.parse_qs(urllib.parse.urlparse(handler.path).query)["host"][0])
                with self.lock:  # one at a time: the pages of all at once would take memory from Prometheus
                    body = self.site.page(number, int(time.time())).encode()
                handler.send_response(200)
                handler.send_header("Content-Type", "text/plain; version=0.0.4")
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *words):  # noqa: N805
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Prometheus:
    def __init__(self, binary: str, directory: pathlib.Path):
        self.directory, self.port = directory, free_port()
        self.log = open(directory / "prometheus.log", "w")
        self.process = subprocess.Popen(
            [binary, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}", "--web.enable-lifecycle",
             "--web.enable-remote-write-receiver", "--query.timeout=5m",
             "--query.max-samples=500000000"], stderr=self.log, stdout=self.log)

    def get(self, path: str, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=600) as answer:
            return json.load(answer)["data"]

    def reload(self) -> None:
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/-/reload", method="POST"), timeout=600)

    def runs(self) -> bool:
        if self.process.poll() is not None:
            raise SystemExit((self.directory / "prometheus.log").read_text()[-2000:])
        return True

    def value(self, query: str) -> float:
        found = self.get("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else 0.0

    def memory(self) -> int:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def cpu(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def until(what: str, condition, seconds: float, every: float = 1.0) -> None:
    end = time.time() + seconds
    while True:
        try:
            if condition():
                return
        except OSError:
            pass
        if time.time() > end:
            raise SystemExit(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)


def ask(prometheus: Prometheus, board: str, expression: str, instant: bool, span: int, step: int, interval: int) -> float:
    """Seconds, as Grafana asks."""
    one = board == "records"
    query = fill(expression, job=".+", instance=".+", ioc=ONE_IOC if one else ".*",
                 **dict.fromkeys(("pvs", "users", "clients", "records"), "=~`.*`"), pv="", user="", client="",
                 archiver="", phoebus="", exporter="host002:10064",
                 __rate_interval=f"{max(step + interval, 4 * interval)}s", __range=f"{span}s", __interval=f"{step}s")
    now = time.time()
    began = time.perf_counter()
    if instant:
        prometheus.get("query", query=query, time=now)
    else:
        prometheus.get("query_range", query=query, start=now - span, end=now, step=step)
    return time.perf_counter() - began


def time_panels(prometheus: Prometheus, span: int, rounds: int) -> list[tuple[float, str]]:
    """The slowest query of each panel, medians; and a whole dashboard as a browser asks it, its marks too, six queries at a
    time."""
    took = []
    for name, board in dashboards().items():
        queries = [(panel["title"], target["expr"], bool(target.get("instant")), step_of(panel, span))
                   for panel in board["panels"] for target in panel.get("targets", [])]
        queries += [(f"mark: {mark['name']}", mark["expr"], False, max(STEP, step_of({"maxDataPoints": 1000}, span)))
                    for mark in board["annotations"].get("list", []) if mark["enable"]]
        by_panel: dict[str, float] = {}
        for title, *query in queries:
            once = statistics.median(ask(prometheus, name, query[0], query[1], span, query[2], STEP) for _ in range(rounds))
            by_panel[title] = max(by_panel.get(title, 0), once)
        took += [(seconds, f"{name}: {title}") for title, seconds in by_panel.items()]
        whole, before = [], prometheus.cpu()
        for _ in range(rounds):
            began = time.perf_counter()
            with concurrent.futures.ThreadPoolExecutor(6) as browser:
                list(browser.map(lambda query: ask(prometheus, name, query[1], query[2], span, query[3], STEP), queries))
            whole.append(time.perf_counter() - began)
        cpu = (prometheus.cpu() - before) / rounds  # with scrapes and rules meanwhile; what others do here adds nothing
        took.append((statistics.median(whole), f"{name}: the whole dashboard ({cpu:.2f} s of CPU)"))
    return sorted(took, reverse=True)


def impatient(path: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """The rules without intervals of their own."""
    copy = directory / path.name
    copy.write_text(re.sub(r"\n +interval: \w+", "", path.read_text()))
    return copy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", default="prometheus")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--iocs", type=int, default=10, help="of a host")
    parser.add_argument("--records", type=int, default=500, help="of an IOC")
    parser.add_argument("--processing", type=int, default=60, help="of these, that process")
    parser.add_argument("--pvs", type=int, default=10, help="of an IOC, that one client writes to")
    parser.add_argument("--types", type=int, default=0, help="of records, of an IOC whose exporter runs with --series=site; 0: =all")
    parser.add_argument("--past", type=int, default=24, help="hours, of what is looked at for so long")
    parser.add_argument("--full", type=int, default=15, help="minutes of these with all series")
    parser.add_argument("--spans", default="1h,24h")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rule-interval", type=int, default=STEP, help="seconds, for all groups where it is not 60")
    parser.add_argument("--rule-rounds", type=int, default=3, help="evaluations of the rules that are waited for")
    wanted = parser.parse_args()

    rules = sorted((ROOT / "alerts").glob("*.yml"))
    recorded = [rule["record"] for path in rules for group in yaml.safe_load(path.read_text())["groups"]
                for rule in group["rules"] if "record" in rule]
    site = Site(wanted.iocs, wanted.records, wanted.processing, wanted.pvs, recorded, wanted.types)
    print(f"{wanted.hosts} hosts of {site.series()} series: {wanted.hosts * site.series()} without what rules record; "
          f"a page has {len(site.page(1, int(time.time())))} bytes", flush=True)
    with tempfile.TemporaryDirectory(prefix="site.") as name:
        directory = pathlib.Path(name)
        pages = Pages(site)
        targets = [{"targets": [f"127.0.0.1:{pages.port}"], "labels": {"__param_host": f"{host:03}"}}
                   for host in range(wanted.hosts)]

        def configure(shown: list[dict], files: list[pathlib.Path]) -> None:
            (directory / "prometheus.yml").write_text(CONFIG.format(
                interval=min(STEP, wanted.rule_interval), rule_interval=wanted.rule_interval,
                rules=", ".join(f'"{path}"' for path in files), targets=json.dumps(shown)))

        configure([], [])
        if wanted.rule_interval != STEP:
            rules = [impatient(path, directory) for path in rules]
        prometheus = Prometheus(wanted.prometheus, directory)
        try:
            measure(prometheus, site, wanted, lambda: configure(targets, rules))
        finally:
            prometheus.process.kill()
            prometheus.process.wait()


def looked_at_for_long() -> re.Pattern:
    """The names of what a panel draws over time or counts in its span, and of what rules look at over a day. Not those of
    the dashboard Records: it looks at one IOC, of which all is there."""
    texts = [target["expr"] for name, board in dashboards().items() if name != "records" for panel in board["panels"]
             for target in panel.get("targets", []) if not target.get("instant") or "$__range" in target["expr"]]
    texts += [rule["expr"] for path in (ROOT / "alerts").glob("*.yml")
              for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]
              if re.search(r"offset|\[\d+[hd]\]", rule["expr"])]
    found = {name for text in texts for name in re.findall(r"[a-z_]+:[\w:]+|(?:epics|ioc_exporter)_\w+|\bup\b", by_name(text))}
    return re.compile("|".join(sorted(found)))


def measure(prometheus: Prometheus, site: Site, wanted, use_rules) -> None:
    began, until_then = time.time(), int(time.time()) - STEP
    until("Prometheus runs", lambda: prometheus.runs() and prometheus.get("query", query="1"), 60)
    long = looked_at_for_long()
    backfill = Backfill(site, wanted.hosts, prometheus.port)
    backfill.run(until_then, wanted.full, wanted.past, lambda name: bool(long.fullmatch(name)), ONE_IOC)
    there = f"count(last_over_time(ioc:epics_ioc_cpu_seconds:rate5m[10m] offset {60 * wanted.past - 15}m))"
    if prometheus.value(there) != wanted.hosts * wanted.iocs:
        raise SystemExit(f"of the past there are {prometheus.value(there):.0f} IOCs")
    print(f"{time.time() - began:.0f} s for {wanted.past} hours, {prometheus.cpu():.0f} s of CPU, "
          f"{prometheus.memory() / 2**30:.1f} GiB", flush=True)
    use_rules()
    prometheus.reload()
    before, at = prometheus.cpu(), time.time()

    def evaluated() -> bool:
        groups = prometheus.get("rules")["groups"]
        return (time.time() > at + wanted.rule_rounds * wanted.rule_interval
                and all(group["evaluationTime"] > 0 for group in groups))

    until("the rules are evaluated", evaluated, 1200)
    for group in prometheus.get("rules")["groups"]:
        for rule in group["rules"]:
            if rule.get("lastError"):
                raise SystemExit(f"{rule['name']}: {rule['lastError']}")
    took = time.time() - at
    print(f"scrapes and rules each {wanted.rule_interval} s: {(prometheus.cpu() - before) / took:.2f} cores, "
          f"{prometheus.memory() / 2**30:.1f} GiB, head {prometheus.get('status/tsdb')['headStats']['numSeries']} series")
    print("\nrules, seconds of the last evaluation (interval)")
    for group in sorted(prometheus.get("rules")["groups"], key=lambda group: -group["evaluationTime"]):
        print(f"  {group['evaluationTime']:8.3f}  {group['name']} ({group['interval']:.0f} s)")
        for rule in sorted(group["rules"], key=lambda rule: -rule["evaluationTime"])[:3]:
            if rule["evaluationTime"] > 0.2:
                print(f"  {rule['evaluationTime']:8.3f}      {rule['name']}")
    for span in wanted.spans.split(","):
        seconds = int(span[:-1]) * {"m": 60, "h": 3600}[span[-1]]
        print(f"\npanels at {span}, seconds of the slowest query (median of {wanted.rounds})")
        for once, name in time_panels(prometheus, seconds, wanted.rounds):
            print(f"  {once:8.3f}  {name}", flush=True)
    print(f"\n{prometheus.memory() / 2**30:.1f} GiB at the end")


if __name__ == "__main__":
    main()
