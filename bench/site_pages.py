"""The pages of a simulated site: N hosts with IOCs, from the lines of one real scrape (site_shape.txt).

A line of the scrape belongs to a record, a PV, an IOC or the host. Each is a block of text, in which only names differ
from one IOC, record or PV to the next: so a block is made once a moment for each kind of behaviour, and put together by
replacing names. Counters grow as they did in the scrape, faster or slower by kind. What a site has of unrest is in it:
IOCs restart, at night all of a host; clients storm; some records are never processed.
"""
import math
import pathlib
import re

SHAPE = pathlib.Path(__file__).resolve().parent / "site_shape.txt"
LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
# Placeholders of names, each as long as the names are.
IOC, RECORD, HOST = "ioc@@@-@@", "S@@@:C@@:P@@@:", "host@@@:"
AGE = 9.0  # seconds that the scrape's IOC had been seen for
KINDS = 8  # of behaviour
RESTART_EVERY = 4 * 3600  # of one IOC, each at a time of its own
STORM = (600, 900)  # seconds of each hour in which a kind of client writes a hundred times as often


def is_counter(name: str) -> bool:
    return name.endswith(("_total", "_sum", "_count", "_bucket"))


class Block:
    """Lines without their values."""

    def __init__(self, lines: list[tuple[str, str, float]], replace: dict[str, str]):
        self.lines, self.parts = [], []
        for name, labels, value in lines:
            for old, new in replace.items():
                labels = labels.replace(f'="{old}"', f'="{new}"')
            self.lines.append((name, labels, value))
            self.parts.append((f"{name}{{{labels}}} " if labels else f"{name} ", is_counter(name), value))

    def text(self, age: float, speed: float) -> str:
        grown = age * speed / AGE
        return "".join(f"{head}{value * grown if counter else value:.10g}\n" for head, counter, value in self.parts)

    def __len__(self) -> int:
        return len(self.parts)


LE = [f'le="{16.0 ** k:.10g}"' for k in range(-5, 1)] + ['le="+Inf"']
PERIOD = [f'period="{period}"' for period in ("0.1", "0.2", "0.5", "1", "2", "5", "10")]
REASON = ['reason="active"', 'reason="disabled"']
# With --series=site.
OF_PUTS = "epics_put_duration_seconds"
BY_TYPE = ("epics_record_process_duration_seconds", "epics_record_process_self_seconds")
CLIENT = 'client="127.0.0.1",user="{}op",client_host="console1"'


def recorded_lines(names: list[str], of: str, by_type: bool) -> list[tuple[str, str, float]]:
    """What the rules would have recorded in the past: of the "site", a "host", an "ioc", or a "pv" and its client."""
    if of == "site":  # the busiest: of the first host
        more = {"job_le": LE, "job_probe_reason": [f'probe="ca_tap",reason="reason{i}"' for i in range(39)],
                "job_client_user": [CLIENT.format(f"S000:C{i // 10:02}:P{i % 10:03}:") for i in range(20)],
                "job_ioc_pv": [f'instance="host000:10064",ioc="ioc000-{i // 10:02}",pv="S000:C{i // 10:02}:P{i % 10:03}:SetCur"'
                               for i in range(20)]}
        return [(name, labels, 1.5) for name in names for labels in more.get(name.split(":")[0], [])]
    if of == "host":  # the busiest PVs and clients of a host: those of its first IOCs
        busiest = [f"S@@@:C{i // 10:02}:P{i % 10:03}:" for i in range(20)]
        more = {"instance": [""], "instance_le": LE, "instance_period": PERIOD, "instance_reason": REASON,
                "instance_class": [f'thread_class="{name}"' for name in
                                   ("scan", "callback", "once", "ca", "pva", "main", "other", "ended")],
                "instance_severity": [f'severity="{name}"' for name in ("minor", "major", "invalid")],
                "instance_protocol": ['protocol="ca"'], "instance_client_user": [CLIENT.format(name) for name in busiest],
                "ioc_pv": [f'ioc="ioc@@@-{i // 10:02}",pv="{name}SetCur"' for i, name in enumerate(busiest[:10])]}
        names = [name for name in names if not name.startswith("ioc_pv:") or "_top:" in name]
        return [(name, labels, 1.5) for name in names for labels in more.get(name.split(":")[0], [])]
    more = {"ioc": [""], "ioc_protocol": ['protocol="ca"'], "ioc_le": LE, "ioc_period": PERIOD, "ioc_reason": REASON}
    if of == "pv":
        more = {"ioc_pv": [f'pv="{RECORD}SetCur"'], "ioc_client_user": [CLIENT.format(RECORD)]}
        names = [name for name in names if not (by_type and f":{OF_PUTS}:" in name)]
    elif by_type:
        names = [name for name in names if not name.startswith("ioc_pv:") or f":{OF_PUTS}:" in name]
        more["ioc_pv"] = ['pv="(other)"']
    names = [name for name in names if "_pva_" not in name and "_top:" not in name]
    return [(name, f'ioc="{IOC}"' + (f",{labels}" if labels else ""), 1.5)
            for name in names for labels in more.get(name.split(":")[0], [])]


class Site:
    """`recorded`: names of recording rules, whose series the past has, too. `types`: of records, as with --series=site; 0:
    as with --series=all."""

    def __init__(self, iocs: int, records: int, processing: int, pvs: int, recorded: list[str], types: int = 0):
        self.iocs, self.records, self.processing, self.pvs, self.types = iocs, records, processing, pvs, types
        of = {"record": [], "rest": [], "pv": [], "ioc": [], "host": []}
        for line in SHAPE.read_text().splitlines():
            name, labels, value = LINE.fullmatch(line).groups()
            labels = labels or ""
            wanted = next((kind for kind, mark in (("record", 'record="D:scan"'), ("rest", 'record="D:off"'),
                                                   ("pv", 'pv="D:wait.A"'), ("ioc", 'ioc="demo"'), ("host", ""))
                           if mark in labels), None)
            if wanted == "ioc" and re.search(r'\b(record|pv)="', labels) and 'pv="D:closed"' not in labels:
                continue  # other records and PVs; one PV of a host is written to by somebody who should not
            if wanted == "rest" and name != "epics_record_process_total":
                continue
            of[wanted].append((name, labels, float(value)))
        names = {"demo": IOC, "D:scan": RECORD + "CurRB", "D:off": RECORD + "SetRB", "D:wait.A": RECORD + "SetCur",
                 "D:wait": RECORD + "SetCur", "D:closed": IOC + ":closed"}
        one_each = {"operator": RECORD + "op"}
        of["host"] += [line for line in of["ioc"] if 'pv="D:closed"' in line[1]]
        of["ioc"] = [line for line in of["ioc"] if 'pv="D:closed"' not in line[1]]
        if types:
            of = self._of_site(of)
        self.blocks = {kind: Block(lines, names | (one_each if kind == "pv" else {})) for kind, lines in of.items()}
        self.past = {of: Block(recorded_lines(recorded, of, types > 0), {}) for of in ("site", "host", "ioc", "pv")}
        self.past["host"].lines.append(("up", "", 1.0))
        self._cache: dict[tuple, str] = {}

    @staticmethod
    def _of_site(of: dict[str, list]) -> dict[str, list]:
        """The lines of each kind with durations by record type, and of puts by IOC."""
        made = dict(of)
        made["type"] = [(name, labels.replace('record="D:scan"', f'record_type="{RECORD}"'), value)
                        for name, labels, value in made["record"] if name.startswith(BY_TYPE)]
        made["record"] = [line for line in made["record"] if not line[0].startswith(BY_TYPE)]
        made["ioc"] += [(name, labels.replace('pv="D:wait.A"', 'pv="(other)"'), value)
                        for name, labels, value in made["pv"] if name.startswith(OF_PUTS)]
        made["pv"] = [line for line in made["pv"] if not line[0].startswith(OF_PUTS)]
        return made

    def series(self) -> int:
        """Of one host."""
        return len(self.blocks["host"]) + self.iocs * (
            len(self.blocks["ioc"]) + sum(count * len(self.blocks[name]) for name, count in self.counts()))

    def counts(self) -> list[tuple[str, int]]:
        """How many an IOC has of each kind of block."""
        return [("record", self.processing), ("rest", self.records - self.processing), ("pv", self.pvs)] + (
            [("type", self.types)] if self.types else [])

    @staticmethod
    def with_names(text, host: int, number: int | None = None, i: int | None = None):
        """Text or bytes with the names that belong there; all have the length of what stands for them."""
        names = {HOST: f"host{host:03}:", "S@@@:": f"S{host:03}:", "ioc@@@-@@": f"ioc{host:03}-00", "ioc@@@-": f"ioc{host:03}-"}
        if number is not None:
            names = {IOC: f"ioc{host:03}-{number:02}", HOST: f"host{host:03}:"}
        if i is not None:
            names = {RECORD: f"S{host:03}:C{number:02}:P{i:03}:"}
        for old, new in names.items():
            text = text.replace(old, new) if isinstance(text, str) else text.replace(old.encode(), new.encode())
        return text

    @staticmethod
    def _age(kind: int, now: int) -> int:
        return (now - 360 * kind) % RESTART_EVERY

    @staticmethod
    def _speed(name: str, kind: int, now: int) -> float:
        storm = 100 if name == "pv" and kind == 3 and STORM[0] <= now % 3600 < STORM[1] else 1
        return 0.25 * (1 + kind) * storm

    def series_of(self, name: str, kind: int, times: list[int]):
        """The series of such a block, with those that rules recorded: labels by name, and values; None where there was none
        at that time."""
        common = {"job": "ioc_exporter"} | ({"instance": HOST + "10064"} if name != "site" else {})
        grown = [now % 86400 / AGE if name in ("host", "site") else self._age(kind, now) * self._speed(name, kind, now) / AGE
                 for now in times]
        for past, block in ((False, self.blocks.get(name)), (True, self.past.get(name))):
            for metric, labels, value in block.lines if block else []:
                if metric.endswith(":increase2m"):
                    values = [1.0 if self._age(kind, now) < 120 else None for now in times]
                elif metric.endswith((":avg1h", ":avg1d")):  # rules that are evaluated each four minutes
                    values = [value if now // 60 % 4 == 0 else None for now in times]
                elif past:  # no two alike, as rates are
                    values = [value * (1 + 0.1 * math.sin(now)) for now in times] if metric != "up" else [1.0] * len(times)
                else:
                    values = [value * more for more in grown] if is_counter(metric) else [value] * len(times)
                yield {"__name__": metric} | common | dict(re.findall(r'(\w+)="([^"]*)"', labels)), values

    def _text(self, name: str, kind: int, now: int) -> str:
        key = (name, kind, now)
        if key not in self._cache:
            if len(self._cache) > 4096:
                self._cache.clear()
            age = now % 86400 if name == "host" else self._age(kind, now)
            self._cache[key] = self.blocks[name].text(age, 1.0 if name == "host" else self._speed(name, kind, now))
        return self._cache[key]

    def page(self, host: int, now: int) -> str:
        """`now`: seconds since 1970."""
        parts = [self.with_names(self._text("host", 0, now), host)]
        for number in range(self.iocs):
            kind = (host + number) % KINDS
            ioc = [self._text("ioc", kind, now)]
            for name, count in self.counts():
                text = self._text(name, kind, now)
                ioc += [self.with_names(text, host, number, i) for i in range(count)]
            parts.append(self.with_names("".join(ioc), host, number))
        return "".join(parts)
