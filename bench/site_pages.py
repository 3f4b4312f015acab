"""The pages of a simulated site: N hosts with IOCs, from the lines of one real scrape (site_shape.txt).

A line of the scrape belongs to a record, a PV, an IOC or the host. Each is a block of text, in which only names differ
from one IOC, record or PV to the next: so a block is made once a moment for each kind of behaviour, and put together by
replacing names. Counters grow as they did in the scrape, faster or slower by kind. What a site has of unrest is in it:
IOCs restart, at night all of a host; clients storm; some records are never processed.
"""
import pathlib
import re

SHAPE = pathlib.Path(__file__).resolve().parent / "site_shape.txt"
LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)")
AGE = 9.0  # seconds that the scrape's IOC had been seen for
KINDS = 8  # of behaviour
RESTART_EVERY = 4 * 3600  # of one IOC, each at a time of its own
STORM = (600, 900)  # seconds of each hour in which a kind of client writes a hundred times as often


def is_counter(name: str) -> bool:
    return name.endswith(("_total", "_sum", "_count", "_bucket"))


class Block:
    """Lines without their values."""

    def __init__(self, lines: list[tuple[str, str, float]], replace: dict[str, str]):
        self.parts = []
        for name, labels, value in lines:
            for old, new in replace.items():
                labels = labels.replace(f'="{old}"', f'="{new}"')
            self.parts.append((f"{name}{{{labels}}} " if labels else f"{name} ", is_counter(name), value))

    def text(self, age: float, speed: float, stamp: str) -> str:
        grown = age * speed / AGE
        return "".join(f"{head}{value * grown if counter else value:.10g}{stamp}\n"
                       for head, counter, value in self.parts)

    def __len__(self) -> int:
        return len(self.parts)


def recorded_lines(names: list[str], pvs: bool) -> list[tuple[str, str, float]]:
    """What the rules would have recorded in the past: of an IOC, or of a PV and its client."""
    more = {"ioc": [""], "ioc_le": [f',le="{4.0 ** k:.10g}"' for k in range(-10, 1)] + [',le="+Inf"'],
            "ioc_period": [f',period="{period}"' for period in ("0.1", "0.2", "0.5", "1", "2", "5", "10")],
            "ioc_reason": [',reason="active"', ',reason="disabled"']}
    if pvs:
        more = {"ioc_pv": [',pv="@P"'],
                "ioc_client_user": [',client="10.0.0.7",user="@P",client_host="console"']}
    return [(name, f'ioc="@I"{labels}', 1.5) for name in names for labels in more.get(name.split(":")[0], [])]


class Site:
    """`recorded`: names of recording rules, which the pages of the past have, too."""

    def __init__(self, iocs: int, records: int, processing: int, pvs: int, recorded: list[str]):
        self.iocs, self.records, self.processing, self.pvs = iocs, records, processing, pvs
        of = {"record": [], "rest": [], "pv": [], "ioc": [], "host": []}
        for line in SHAPE.read_text().splitlines():
            name, labels, value = LINE.fullmatch(line).groups()
            labels = labels or ""
            wanted = next((kind for kind, mark in (("record", 'record="D:scan"'), ("rest", 'record="D:off"'),
                                                   ("pv", 'pv="D:wait.A"'), ("ioc", 'ioc="demo"'), ("host", ""))
                           if mark in labels), None)
            if wanted == "ioc" and re.search(r'\b(record|pv)="', labels):
                continue  # other records and PVs
            if wanted == "rest" and name not in ("epics_record_info", "epics_record_process_total"):
                continue
            of[wanted].append((name, labels, float(value)))
        names = {"demo": "@I", "D:scan": "@R", "D:off": "@R", "D:wait.A": "@P", "D:wait": "@P"}
        self.blocks = {kind: Block(lines, names) for kind, lines in of.items()}
        self.past = {"ioc": Block(recorded_lines(recorded, False), {}), "pv": Block(recorded_lines(recorded, True), {})}
        self._cache: dict[tuple, str] = {}

    def series(self) -> int:
        """Of one host."""
        return len(self.blocks["host"]) + self.iocs * (
            len(self.blocks["ioc"]) + self.processing * len(self.blocks["record"])
            + (self.records - self.processing) * len(self.blocks["rest"]) + self.pvs * len(self.blocks["pv"]))

    def _text(self, kind: str, age: int, speed: float, stamp: str, past: bool = False) -> str:
        key = (kind, age, speed, stamp, past)
        if key not in self._cache:
            if len(self._cache) > 4096:
                self._cache.clear()
            self._cache[key] = (self.past if past else self.blocks)[kind].text(age, speed, stamp)
        return self._cache[key]

    def page(self, host: int, now: int, in_the_past: bool) -> str:
        """`now`: seconds since 1970; of the past, each line says when it was."""
        stamp = f" {now * 1000}" if in_the_past else ""
        parts = [self._text("host", now % 86400, 1.0, stamp)]
        for number in range(self.iocs):
            kind = (host + number) % KINDS
            speed = 0.25 * (1 + kind)
            age = (now - 360 * kind) % RESTART_EVERY
            storm = 100 if kind == 3 and STORM[0] <= now % 3600 < STORM[1] else 1
            record = self._text("record", age, speed, stamp)
            rest = self._text("rest", age, speed, stamp)
            put = self._text("pv", age, speed * storm, stamp)
            ioc = [self._text("ioc", age, speed, stamp)]
            ioc += [record.replace("@R", f"SR:C{number:02}:PS{i:03}:CurRB") for i in range(self.processing)]
            ioc += [rest.replace("@R", f"SR:C{number:02}:PS{i:03}:Set") for i in range(self.records - self.processing)]
            puts = [put] + ([self._text("pv", age, speed, stamp, True)] if in_the_past else [])
            ioc += [text.replace("@P", f"SR:C{number:02}:PS{i:03}:SetCur") for i in range(self.pvs) for text in puts]
            if in_the_past:
                ioc.append(self._text("ioc", age, speed, stamp, True))
            parts.append("".join(ioc).replace("@I", f"ioc{host:03}-{number:02}"))
        return "".join(parts)
