"""tests/tools/trace_feed.cpp: traces to the exporter's outlets, without an IOC; and traces made up for it."""
import json
import pathlib
import random

from . import env
from .process import Process
from .scrape import Scrape
from .waiting import wait_until


class TraceFeed:
    def __init__(self, log_dir: pathlib.Path, *options: str):
        self.process = Process("trace_feed", [env.tool("trace_feed"), *options], log_dir)
        self._asked = 0

    def kill(self) -> None:
        self.process.kill()

    def send(self, *traces: dict) -> None:
        self.process.popen.stdin.write("".join(json.dumps(trace) + "\n" for trace in traces).encode())
        self.process.popen.stdin.flush()

    def page(self) -> Scrape:
        """/metrics after all that was sent."""
        self.process.send_line("?")
        self._asked += 1

        def told():
            assert self.process.popen.poll() is None, self.process.describe()
            parts = self.process.stdout().split("# end\n")
            return parts if len(parts) > self._asked else None

        text = wait_until(told, "the outlets are told of")[self._asked - 1]
        # Its log lines stand between.
        return Scrape("".join(line for line in text.splitlines(True) if not line.startswith("[")))

    def count(self, name: str, **labels) -> int:
        """Of ioc_exporter_sink_NAME, all series with these labels together."""
        return self.page().total(f"ioc_exporter_sink_{name}", **labels)

    def wait_count(self, count: int, name: str, timeout: float = 60, **labels) -> None:
        wait_until(lambda: self.count(name, **labels) == count, f"{name} {labels} is {count}", timeout, 0.1)


def process(name: str, kind: str, offset: int, duration: int, **more) -> dict:
    return {"kind": "process", "name": name, "record_type": kind, "offset_ns": offset, "duration_ns": duration,
            "self_ns": duration, **more}


class Traces:
    """Traces as the exporter writes them, whose identifiers come from a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def id(self, digits: int = 16) -> str:
        return f"{self._random.getrandbits(4 * digits - 1) + 1:0{digits}x}"

    def trace(self, spans: list[tuple[int | None, dict]], time="2026-11-23T06:00:00.123456789Z", **more) -> dict:
        """`spans`: each with the place of its parent in the list, None of the root."""
        ids = [self.id() for _ in spans]
        placed = [{"span_id": own, **({} if parent is None else {"parent_id": ids[parent]}), **span}
                  for own, (parent, span) in zip(ids, spans)]
        return {"time": time, "trace_id": self.id(32), "ioc": "ps", "pid": 812, "thread": "scan1", "tid": 815,
                "cause": {"kind": "scan", "scan": "1 second"}, "why": ["rate"], "spans": placed, **more}
