"""The events of a site's year, each as a promtool test of two days at five hosts.

    python tests/monitoring/year.py     (prints which alerts fire for each, where and how often)
"""
import dataclasses
import pathlib
from typing import Callable, Iterable

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# All alerts, and the groups that they need here; those for dashboards would take longer than all of these.
GROUPS = ["ioc_exporter_hosts", "ioc_exporter", "epics_iocs_seen", "epics_iocs", "epics_puts_by_policy", "epics_puts", "epics_records"]
HOUR, DAY = 60, 1440  # minutes, as all times here
END = 2 * DAY
STEP = 3  # from one evaluation to the next

# A series' value at a minute; None where there is no sample, STALE where it ended.
STALE = "stale"
Values = list


class Site:
    """Five hosts with two IOCs each: `a` is expected by name, `b` was only seen. What an event changes is changed here."""

    def __init__(self):
        self.hosts = [f"h{i}:10064" for i in range(5)]
        self.changed: set[str] = set()
        self.series: dict[str, Values] = {}
        for host in self.hosts:
            self.set("up", host, 0, END, 1)
            for minute in range(END):
                self.set("ioc_exporter_time_seconds", host, minute, minute + 1, minute * 60)
            self.set("process_start_time_seconds", host, 0, END, -9000)
            self.set("epics_host_boot_time_seconds", host, 0, END, -99000)
            self.set("epics_ioc_expected", host, 0, END, 1, ioc="a")
            for ioc in "ab":
                self.set("epics_ioc_up", host, 0, END, 1, ioc=ioc)
        self.changed.clear()

    def test_series(self) -> dict[str, Values]:
        """Of the hosts to which something happened, and of one more: promtool takes its time for each."""
        left_out = [host for host in self.hosts if host not in self.changed][1:]
        return {name: values for name, values in self.series.items()
                if not any(f'instance="{host}"' in name for host in left_out)}

    def of(self, name: str, host: str, **labels: str) -> Values:
        self.changed.add(host)
        text = ",".join(f'{key}="{value}"' for key, value in {"job": "ioc_exporter", "instance": host, **labels}.items())
        return self.series.setdefault(f"{name}{{{text}}}", [None] * END)

    def set(self, name: str, host: str, start: int, end: int, value, **labels: str) -> None:
        self.of(name, host, **labels)[start:end] = [value] * (min(end, END) - start)

    def away(self, host: str, start: int, end: int, up: int | None = 0) -> None:
        """The exporter is not scraped; `up` None: nor is it tried, as Prometheus is away, or what it sends does not arrive."""
        for name, values in self.series.items():
            if f'instance="{host}"' in name:
                values[start:end] = [None] * (end - start)
                if up is not None and values[start - 1] is not None:
                    values[start] = STALE
        self.set("up", host, start, end, up)

    def restart(self, host: str, start: int, end: int, boot: bool = False) -> None:
        """The exporter, or its host: what ran before is not known afterwards."""
        if boot:
            for ioc in "ab":
                self.set("epics_ioc_up", host, start - 1, start, 0, ioc=ioc)
        self.away(host, start, end)
        clock = self.of("ioc_exporter_time_seconds", host)[end] if end < END else end * 60
        self.set("process_start_time_seconds", host, end, END, clock - 20)
        if boot:
            self.set("epics_host_boot_time_seconds", host, end, END, clock - 50)
            for ioc in "ab":  # they come one after the other
                self.set("epics_ioc_up", host, end, end + 5, None, ioc=ioc)

    def put(self, host: str, minute: int, user: str = "guest", until: int = END) -> None:
        """A forbidden put, which the page shows until then."""
        self.set("epics_last_unexpected_put_timestamp_seconds", host, minute, until, minute * 60 - 10, ioc="a",
                 protocol="ca", pv="SR:X", client="10.0.0.7", user=user, client_host="console1", rule="interlocks",
                 action="forbidden")


Told = dict  # labels to how often


@dataclasses.dataclass
class Event:
    title: str
    happens: Callable[[Site], None]
    told: list[tuple[str, str, dict[str, str], int]] = dataclasses.field(default_factory=list)  # alert, severity, labels, times
    says: str = ""

    def test(self) -> dict:
        site = Site()
        self.happens(site)
        # promtool goes on evaluating where Prometheus is away, and finds no targets.
        counted = ('sum by (alertname, severity, instance, ioc, user) (count_over_time('
                   f'(ALERTS{{alertstate="firing", alertname!="IocExporterNoTargets"}} unless ALERTS offset {STEP}m)[3d:{STEP}m]))')
        samples = [{"labels": "{" + ",".join(f'{key}="{value}"' for key, value in
                                             {"alertname": name, "severity": severity, **labels}.items()) + "}",
                    "value": times} for name, severity, labels, times in self.told]
        return {"name": self.title, "interval": "1m",
                "input_series": [{"series": name, "values": notation(values)} for name, values in site.test_series().items()],
                "promql_expr_test": [{"expr": counted, "eval_time": f"{END}m", "exp_samples": samples}]}


def notation(values: Iterable) -> str:
    """As promtool has it: runs of the same, and of what grows by 60."""
    runs: list[list] = []  # value, step, length
    for value in values:
        last = runs[-1] if runs else None
        if last and value == last[0] and not last[1]:
            last[2] += 1
        elif last and isinstance(value, int) and isinstance(last[0], int) and (last[1] or last[2] == 1) \
                and value == last[0] + 60 * last[2]:
            last[1], last[2] = 60, last[2] + 1
        else:
            runs.append([value, 0, 1])
    words = []
    for value, step, length in runs:
        if value is None:
            words.append(f"_x{length}")
        elif value == STALE:
            words += [STALE] * length
        else:
            words.append(f"{value}+{step}x{length - 1}")
    return " ".join(words)


def nightly_reboots(site: Site) -> None:
    # The clocks are put back in the second night: three o'clock is an hour later by UTC.
    for night in (2 * HOUR, DAY + 3 * HOUR):
        for at, host in enumerate(site.hosts):
            site.restart(host, night + at % 3, night + at % 3 + 4, boot=True)


def lost_subnet(site: Site) -> None:
    for host in site.hosts[:3]:
        site.away(host, 9 * HOUR, 9 * HOUR + 20)


def power_cut(site: Site) -> None:
    for host in site.hosts:
        site.restart(host, 9 * HOUR, 14 * HOUR, boot=True)


def prometheus_away(site: Site) -> None:
    for host in site.hosts:
        site.put(host, HOUR, user="known")
    site.put("h3:10064", 11 * HOUR)
    site.set("epics_ioc_up", "h4:10064", 10 * HOUR, 11 * HOUR, 0, ioc="a")
    for host in site.hosts:
        site.away(host, 10 * HOUR, 12 * HOUR, up=None)


def twin_away(site: Site) -> None:
    site.put("h3:10064", 9 * HOUR)
    site.put("h4:10064", 10 * HOUR + 30)
    site.set("epics_ioc_up", "h0:10064", 8 * HOUR, END, 0, ioc="b")
    for host in site.hosts:
        site.away(host, 10 * HOUR, 11 * HOUR, up=None)


def remote_write_gaps(site: Site) -> None:
    site.put("h3:10064", 12 * HOUR)
    for start in range(HOUR, END - HOUR, 30):
        for host in site.hosts:
            site.away(host, start, start + 6, up=None)


def upgrade(site: Site) -> None:
    for at, host in enumerate(site.hosts):
        site.put(host, 8 * HOUR, user="before", until=9 * HOUR + 5 * at)
        site.restart(host, 9 * HOUR + 5 * at, 9 * HOUR + 5 * at + 1)


def renamed(site: Site) -> None:
    site.set("epics_ioc_up", "h2:10064", 9 * HOUR, 33 * HOUR, 0, ioc="b")
    site.set("epics_ioc_up", "h2:10064", 33 * HOUR, END, None, ioc="b")
    site.set("epics_ioc_last_exit_info", "h2:10064", 9 * HOUR, 33 * HOUR, 1, ioc="b", reason="signal", signal="SIGTERM")
    site.set("epics_ioc_up", "h2:10064", 9 * HOUR, END, 1, ioc="b-new")


def removed(site: Site) -> None:
    site.set("epics_ioc_up", "h2:10064", 9 * HOUR, END, None, ioc="a")
    site.set("epics_ioc_up", "h2:10064", 9 * HOUR, 9 * HOUR + 2, 0, ioc="a")
    site.set("epics_ioc_expected", "h2:10064", 9 * HOUR + 2, END, None, ioc="a")
    site.restart("h2:10064", 9 * HOUR + 2, 9 * HOUR + 3)
    site.set("epics_ioc_expected", "h2:10064", 9 * HOUR + 2, END, None, ioc="a")


def crashed(site: Site) -> None:
    site.set("epics_ioc_up", "h1:10064", 3 * HOUR, 3 * HOUR + 2, 0, ioc="a")  # procServ starts it again
    site.set("epics_ioc_up", "h2:10064", 3 * HOUR, 4 * HOUR, 0, ioc="b")
    site.away("h2:10064", 3 * HOUR + 20, 3 * HOUR + 40)


def commissioning(site: Site) -> None:
    for at, count in enumerate((1, 2, 3)):
        site.set("epics_ioc_restarts_total", "h1:10064", 10 * HOUR + 4 * at, END, count, ioc="b")
    site.set("epics_ioc_restarts_total", "h1:10064", 0, 10 * HOUR, 0, ioc="b")
    site.set("epics_ioc_restarts_total", "h2:10064", 0, 10 * HOUR, 0, ioc="b")
    for at in range(60):
        site.set("epics_ioc_restarts_total", "h2:10064", 10 * HOUR + 2 * at, END, at, ioc="b")


def at(host: str, **labels: str) -> dict[str, str]:
    return {"instance": f"{host}:10064", **labels}


HOSTS = [f"h{i}" for i in range(5)]
DOWN, ABSENT, LOST = "EpicsIocDown", "EpicsIocAbsent", "IocExporterDown"
PUT = "EpicsForbiddenPut"
EVENTS = [
    Event("All hosts reboot each night; one night the clocks are put back", nightly_reboots,
          says="The reboot takes less than six minutes, and the IOCs run ten minutes later."),
    Event("Three hosts of a network are lost for 20 minutes", lost_subnet,
          [(LOST, "critical", at(host), 1) for host in HOSTS[:3]], "One message with the example of Alertmanager's configuration."),
    Event("The power fails for five hours", power_cut, [(LOST, "critical", at(host), 1) for host in HOSTS],
          "One message. All IOCs come back by themselves."),
    Event("Prometheus is away for two hours", prometheus_away,
          [(PUT, "critical", at("h3", ioc="a", user="guest"), 1)]
          + [(PUT, "critical", at(host, ioc="a", user="known"), 1) for host in HOSTS],
          "Meanwhile somebody writes to a PV of h3, and an IOC restarts. Earlier puts are not reported again."),
    Event("Of two Prometheus servers one is away for an hour", twin_away,
          [(DOWN, "critical", at("h0", ioc="b"), 1), (PUT, "critical", at("h3", ioc="a", user="guest"), 1),
           (PUT, "critical", at("h4", ioc="a", user="guest"), 1)],
          "The put to h4 falls into that hour: it is reported again afterwards, unless the server reads what the other knows."),
    Event("Remote write has a gap of six minutes each half hour", remote_write_gaps,
          [(PUT, "critical", at("h3", ioc="a", user="guest"), 1)], "Somebody writes to a PV on the first day."),
    Event("The exporters are upgraded, one host after the other", upgrade,
          [(PUT, "critical", at(host, ioc="a", user="before"), 1) for host in HOSTS],
          "Puts of the hour before are not reported again."),
    Event("An IOC is stopped, and started by another name", renamed, [("EpicsIocStopped", "info", at("h2", ioc="b"), 1)]),
    Event("An IOC is removed for good, and from `iocs.expected`; the exporter restarts", removed,
          [(DOWN, "critical", at("h2", ioc="a"), 1), (ABSENT, "critical", at("h2", ioc="a"), 1)],
          "Silence both alerts before you stop it."),
    Event("Two IOCs crash in the night", crashed, [(DOWN, "critical", at("h2", ioc="b"), 1), (LOST, "critical", at("h2"), 1)],
          "One restarts within two minutes, the other after an hour, in which the exporter does not answer for 20 minutes."),
    Event("Two IOCs are set up", commissioning,
          [("EpicsIocRestartLoop", "warning", at("h1", ioc="b"), 1), ("EpicsIocRestartLoop", "warning", at("h2", ioc="b"), 1)],
          "One starts three times in a quarter of an hour, the other restarts for two hours."),
]


def write_tests(folder: pathlib.Path) -> list[pathlib.Path]:
    groups = {group["name"]: group for path in (ROOT / "alerts").glob("*.yml")
              for group in yaml.safe_load(path.read_text())["groups"]}
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [groups[name] for name in GROUPS]}))
    paths = []
    for number, event in enumerate(EVENTS):
        paths.append(folder / f"event{number:02}.yml")
        paths[-1].write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": f"{STEP}m",
                                             "group_eval_order": GROUPS, "tests": [event.test()]}, width=10**6))
    return paths


if __name__ == "__main__":
    for event in EVENTS:
        print(f"{event.title}. {event.says}".rstrip())
        for name, severity, labels, times in event.told:
            print(f"    {times} x {name} ({severity}): {', '.join(labels.values())}")
