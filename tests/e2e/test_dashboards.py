"""Every panel of the dashboards and every rule, on a real Prometheus that scraped a real IOC with clients."""
import contextlib
import pathlib
import re
import socket
import struct
import time
from typing import Callable

import yaml

from harness import modules
from harness.grafana import PROJECT, dashboards, fill, panels
from harness.prometheus import Prometheus
from harness.raw_client import ECA_NORMAL
from harness.waiting import wait_until

# Chains, an asynchronous record, one that is skipped as active and one as disabled, alarms that come and go, and
# targets of puts: one that is switched off and one that only experts may write to.
RECORDS = """
record(calc, "D:scan") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(FLNK, "D:next") }
record(calc, "D:next") { field(CALC, "VAL+1") }
record(calc, "D:alarm") { field(SCAN, ".1 second") field(CALC, "VAL?0:1") field(HIGH, "0.5") field(HSV, "MINOR") }
record(calc, "D:never") { field(SCAN, ".1 second") field(DISA, "1") }
record(calcout, "D:quick") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(ODLY, "0.02") }
record(calcout, "D:slow") { field(SCAN, ".1 second") field(CALC, "VAL+1") field(ODLY, "0.25") }
record(calcout, "D:wait") { field(CALC, "A") field(ODLY, "0.02") }
record(ao, "D:set") { field(OUT, "D:target PP") }
record(ao, "D:target") { }
record(ao, "D:off") { field(DISP, "1") }
record(ao, "D:closed") { field(ASG, "EXPERTS") }
record(ai, "D:broken") { field(INP, "NO:SUCH:LINK CA") }
"""
ACCESS = "ASG(DEFAULT) { RULE(1, WRITE) }\nASG(EXPERTS) { RULE(1, READ) }\n"
# The rogue's puts to D:off are unexpected, those to D:closed forbidden.
SITE = """
site: {area: hall, owner: operators}
iocs: {expected: [demo]}
policy:
  rules:
    - {name: operators, action: expect, users: operator}
    - {name: experts only, action: forbid, pvs: "D:closed"}
"""
EXPORTER_OPTIONS = ["--records.causes"]

# Panels that have nothing to show here, and why.
EMPTY_PANELS: dict[str, str] = {
    "iocs: IOCs that do not run, or are not seen": "the one IOC runs",
    "exporter: Exporters that do not answer": "the one exporter answers",
    "exporter: IOCs whose records are not counted": "the one IOC's are",
    "exporter: What was dropped, time shown": "nothing is",
    "records: Records that have thrown": "no exception is thrown",
    "iocs: Memory that grows": "no IOC has run for a day",
    "iocs: Availability and restarts, 30 days": "the IOCs run, and are not started again",
    "puts: Put-callbacks that wait": "packets count the puts here",
    "exporter: Series over their limit": "no family is over its limit",
}
# Clients that put as often as programs are not in it: these are, once they have fallen silent.
OF_PEOPLE = "overview: What people changed in the last hour"
# Chosen or typed values of variables.
VARIABLES = {"job": "ioc_exporter", "instance": ".+", "ioc": "demo|demo_drivers", "pv": "", "user": "", "client": "",
             **{name: "=~`.*`" for name in ("pvs", "users", "clients", "records")}, "archiver": "", "phoebus": "", "__rate_interval": "10s", "__range": "60s", "__interval": "1s"}
# Series that rules record, or ask for, which are not there within a minute of a healthy IOC, and why.
EMPTY_SERIES = {
    "epics_put_duration_seconds": "the native histogram: this Prometheus scrapes text",
    "epics_ioc_scan_list_duration_seconds": "the same",
    "ioc_client_user:epics_puts:avg1d": "of the time up to a quarter of an hour ago",
    "ioc_pv:epics_puts:avg1d": "of the time up to a quarter of an hour ago",
    "ioc_pv:epics_put_duration_seconds:avg1d": "of the time up to an hour ago",
    "epics_gateway_info": "no gateway here",
    "instance:epics_puts_of_gateways:rate5m": "the same",
    "epics_ioc_put_callback_oldest_seconds": "packets count the puts here",
    "epics_ca_puts_to_others_channels_total": "the same",
    'ioc_exporter_ioc_overhead_seconds_total{probe=~".*_server_probe"}': "the same",
    'ioc_pv_client_user:epics_put_by_policy:told{action="unjudged"}': "the name of each PV is known",
    'ioc_exporter_dropped_total{probe="putlog", reason="full"}': "no put log here",
    "ioc_record:epics_record_process:rate5m": "no site names records here",
    'ioc_exporter_series_limited{family!~"searches|beacons"}': "no family is over its limit",
    "epics_ioc_name_contested": "no two IOCs want one name here",
    "ioc:epics_ioc_up_timestamp_seconds:last": "of IOCs that were up ten minutes ago",
    "ioc:epics_ioc_restarts:increase2m": "no IOC is started again here",
    'ioc_exporter_sink_dropped_total': "no sinks here",
    'epics_ioc_last_exit_info{reason=~"exit|signal", status=~"0?", signal=~"(SIGTERM)?"}': "no IOC ends here",
    "epics_ioc_last_exit_info": "the same",
    "ioc_exporter_tls_certificate_expiry_timestamp_seconds": "no TLS here",
}


def rules_without_patience(log_dir: pathlib.Path) -> list[pathlib.Path]:
    """The rule files, evaluated each second, with alerts that fire at once."""
    rules = []
    for path in (PROJECT / "alerts").glob("*.yml"):
        rules.append(log_dir / f"rules-{path.name}")
        rules[-1].write_text(re.sub(r"\bfor: \w+", "for: 0s", re.sub(r"\n +interval: \w+", "", path.read_text())))
    return rules


def selectors(expression: str) -> set[str]:
    """The metrics that an expression asks for, with their matchers."""
    names = r"(?:epics|ioc_exporter)_\w+|[a-z_]+:[a-z0-9_]+:[a-z0-9_]+|up"
    return set(re.findall(rf"(?<![\w:\"])(?:{names})\b(?![:\"(=])(?:\{{[^}}]*\}})?", expression))


def search_for_nobody(port: int) -> None:
    """A client's UDP search for a name that no server has."""
    version = struct.pack(">HHHHII", 0, 0, 1, 13, 7, 0)
    name = b"NO:SUCH:PV\0".ljust(16, b"\0")
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as client:
        client.sendto(version + struct.pack(">HHHHII", 6, len(name), 5, 13, 1, 1) + name, ("127.0.0.1", port))


class Puts:
    """Clients that write a little each time; some of it fails."""

    def __init__(self, connect_raw, ioc):
        self.operator = connect_raw(ioc, "operator", "console1")
        self.rogue = connect_raw(ioc, "rogue", "laptop")
        self.good = [self.operator.create("D:set"), self.operator.create("D:wait.A")]
        self.bad = [self.rogue.create("D:off"), self.rogue.create("D:closed")]

    def send(self) -> None:
        for channel in self.good:
            assert self.operator.write_notify(channel, 7) == ECA_NORMAL
            self.operator.write(channel, 5)
        for channel in self.bad:
            assert self.rogue.write_notify(channel, 3) != ECA_NORMAL


class Drivers:
    """An IOC whose modules do something each time: a port is not connected, exchanges and saves fail now and then."""

    def __init__(self, start_ioc):
        self.ioc = modules.start(start_ioc, "demo_drivers", 'record(ai, "D:device") {}')
        for line in ("asynPort L0 1 1 1", "asynPort L1 0 1 0", "asynQueue L0 1 2", "seqEnter example 1000000000",
                     "saveSet auto.sav 4 0 1000000000"):
            self.ioc.shell(line)

    def work(self) -> None:
        for line in ("asynRequests L0 3 100", "asynRequests L1 1 0", "asynTimeouts L0 1", "streamExchanges D:device 3 0 100",
                     "streamExchanges D:device 1 5 0", "seqTransitions example 1", "saveFiles auto.sav 2 1", "pluginFrames L0 3 2"):
            self.ioc.shell(line)


def is_empty(prometheus: Prometheus, panel, now: float, **chosen: str) -> bool:
    for expression, instant in panel.targets:
        query = fill(expression, **VARIABLES | chosen)
        found = prometheus.series(query) if instant else prometheus.ranges(query, now - 10, now)
        if found:
            return False
    return True


def test_panels_and_rules_show_data(start_ioc, start_exporter, raw_client, started, log_dir):
    ioc = start_ioc("demo", RECORDS, access_security=ACCESS)
    drivers = Drivers(start_ioc)
    (log_dir / "site.yml").write_text(SITE)
    exporter = start_exporter(f"--config.file={log_dir}/site.yml", "--functions.presets=auto", "--collector.searches", sees=[ioc])
    prometheus = started.add(Prometheus(log_dir, {"ioc_exporter": f"127.0.0.1:{exporter.port}/metrics"},
                                        rules=rules_without_patience(log_dir))).wait_scraped()
    puts = Puts(raw_client, ioc)

    waiting = [panel for panel in panels() if panel.name not in {*EMPTY_PANELS, OF_PEOPLE}]
    of_people, = (panel for panel in panels() if panel.name == OF_PEOPLE)
    empty = [panel for panel in panels() if panel.name in EMPTY_PANELS]
    assert {panel.name for panel in empty} == set(EMPTY_PANELS)

    def work() -> None:
        puts.send()
        drivers.work()
        ioc.put("D:target", 1)
        search_for_nobody(ioc.port)

    def all_have_shown_data() -> bool:
        work()
        now = time.time()
        waiting[:] = [panel for panel in waiting if is_empty(prometheus, panel, now)]
        return not waiting

    with contextlib.suppress(AssertionError):  # of the waiting, which does not name them
        wait_until(all_have_shown_data, "every panel shows data, but for those with a reason", 300, every=0.5)
    assert not [panel.name for panel in waiting]
    # One scrape that takes too long on a busy host is data of some of them.
    showing: list = []

    def none_shows_data() -> bool:
        showing[:] = [panel for panel in empty if not is_empty(prometheus, panel, time.time())]
        return not showing

    with contextlib.suppress(AssertionError):  # the same
        wait_until(none_shows_data, "panels without data")
    assert not [panel.name for panel in showing]
    wait_until(lambda: not is_empty(prometheus, of_people, time.time()), OF_PEOPLE)
    # With All, sums by host take the place of those of the IOCs, or those of all hosts.
    summed = [panel for panel in panels() if re.search("chosen|job!~", str(panel.targets))
              and panel.name not in {*EMPTY_PANELS, OF_PEOPLE}]
    assert summed
    for instance in (".+", f"127.0.0.1:{exporter.port}"):
        wait_until(lambda instance=instance: work() or not [panel.name for panel in summed if is_empty(
            prometheus, panel, time.time(), ioc=".*", instance=instance)], f"sums of {instance}")
    check_rules(prometheus, work)
    for mark in [mark for board in dashboards().values() for mark in board["annotations"].get("list", [])]:
        prometheus.series(fill(mark["expr"], **VARIABLES))  # it must be one that Prometheus takes


def check_rules(prometheus: Prometheus, work: Callable[[], None]) -> None:
    """`work` goes on meanwhile: what is new is there for one evaluation."""
    groups = prometheus.api("rules")["groups"]
    problems = [f"{rule['name']}: {rule['lastError']}" for group in groups for rule in group["rules"]
                if rule.get("lastError") or rule["health"] != "ok"]
    assert not problems
    texts = [path.read_text() for path in (PROJECT / "alerts").glob("*.yml")]
    rules = [rule for text in texts for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]
    assert len(rules) == sum(len(group["rules"]) for group in groups), "Prometheus has read all rules"
    asked = {selector for rule in rules for selector in selectors(rule["expr"])}
    asked |= {rule["record"] for rule in rules if "record" in rule}
    empty = asked - set(EMPTY_SERIES)

    def all_are_there() -> bool:  # those that are made of others come after them
        work()
        empty.difference_update([selector for selector in empty if prometheus.series(selector)])
        return not empty

    with contextlib.suppress(AssertionError):  # of the waiting, which does not name them
        wait_until(all_are_there, "each series is there", 300, every=1)
    assert empty == set()
