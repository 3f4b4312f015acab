"""One scrape of /metrics, parsed."""
from typing import Iterable

from prometheus_client.parser import text_string_to_metric_families

PROCESSED = "epics_record_process_total"
SKIPPED = "epics_record_process_skipped_total"
DURATION = "epics_record_process_duration_seconds"
PUTS = "epics_puts_total"


class Scrape:
    def __init__(self, text: str):
        self.text = text
        families = list(text_string_to_metric_families(text))
        self.families = {family.name: family for family in families}
        assert len(self.families) == len(families), "the lines of one family must stand together"
        self._samples: dict[str, dict[frozenset, float]] = {}
        for family in self.families.values():
            for sample in family.samples:
                series = self._samples.setdefault(sample.name, {})
                key = frozenset(sample.labels.items())
                assert key not in series, f"twice in one scrape: {sample.name}{sample.labels}"
                series[key] = sample.value

    def series(self, name: str, **labels: str) -> list[tuple[dict[str, str], float]]:
        """All series of a sample name that carry these labels."""
        wanted = labels.items()
        return [(dict(key), value) for key, value in self._samples.get(name, {}).items()
                if wanted <= dict(key).items()]

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the only series with these labels; None when there is none."""
        found = self.series(name, **labels)
        assert len(found) <= 1, f"{len(found)} series match {name}{labels}: {found}"
        return found[0][1] if found else None

    def count(self, name: str, **labels: str) -> int:
        """A counter's value; a series that is not there yet has counted nothing."""
        value = self.value(name, **labels)
        return exact(0.0 if value is None else value)

    def total(self, name: str, **labels: str) -> int:
        return exact(sum(value for _, value in self.series(name, **labels)))

    def sink(self, sink: str, events: str = "puts") -> dict[str, int]:
        """Events of a sink of the put log, or of traces, by outcome: each is in one of the four counts."""
        count = lambda name: self.total(f"ioc_exporter_sink_{name}", sink=sink, events=events)
        parts = {name: count(name if name == "waiting" else f"{name}_total")
                 for name in ("delivered", "filtered", "dropped", "waiting")}
        assert sum(parts.values()) == count("events_total"), f"{sink}: {parts} of {count('events_total')}"
        return {"events": count("events_total"), "failures": count("failures_total"), **parts}

    def counts(self, name: str, ioc: str, records: Iterable[str], **labels: str) -> dict[str, int]:
        return {r: self.count(name, ioc=ioc, record=r, **labels) for r in records}

    def buckets(self, ioc: str, record: str) -> list[tuple[float, int]]:
        """(upper edge, cumulative count), sorted by edge."""
        return sorted((float(labels["le"]), exact(value)) for labels, value in
                      self.series(f"{DURATION}_bucket", ioc=ioc, record=record))

    def put_source(self, ioc, protocol: str = "ca") -> str | None:
        """Where the counts of puts to the IOC come from: "server", "packets", "none"; None where it is not told."""
        found = self.series("epics_ioc_put_source", ioc=ioc.name, protocol=protocol)
        assert len(found) <= 1, f"more than one source: {found}"
        return found[0][0]["source"] if found else None

    def ioc_of_pid(self, pid: int) -> str | None:
        found = self.series("epics_ioc_info", pid=str(pid))
        return found[0][0]["ioc"] if found else None


def exact(value: float) -> int:
    assert float(value).is_integer(), f"a count that is no whole number: {value}"
    return int(value)


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    assert after.keys() == before.keys()
    return {key: after[key] - before[key] for key in after}
