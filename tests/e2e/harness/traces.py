"""The file of traces, as the exporter writes it."""
import json
import pathlib

from .waiting import wait_until


class TraceFile:
    def __init__(self, path: pathlib.Path):
        self.path = path

    @property
    def options(self) -> list[str]:
        """Every chain is told, and the server's word is heard."""
        return ["--collector.traces", "--traces.rate=100000", f"--traces.file={self.path}", "--server-probe"]

    def all(self, wanted=lambda trace: True) -> list[dict]:
        if not self.path.exists():
            return []
        text = self.path.read_text()
        told = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        return [trace for trace in told if wanted(trace)]

    def wait(self, count: int, wanted=lambda trace: True) -> list[dict]:
        """Once so many are told."""
        found: list[dict] = []

        def told() -> bool:
            found[:] = self.all(wanted)
            return len(found) >= count

        wait_until(told, f"{count} traces in {self.path}", 60, every=0.05)
        assert len(found) == count
        return found


def tree(trace: dict) -> list[str]:
    """A line for each span, indented below its parent: its name, and what became of it."""
    depths: dict[str, int] = {}
    lines = []
    for span in trace["spans"]:
        depths[span["span_id"]] = depth = depths[span["parent_id"]] + 1 if "parent_id" in span else 0
        words = [span["name"], span["kind"] if span["kind"] != "process" else "", span.get("skipped", ""), span.get("alarm", ""),
                 span.get("status", ""), "asynchronous" if "until_return_ns" in span else "",
                 "cut" if span.get("cut") else ""]
        lines.append("  " * depth + " ".join(word for word in words if word))
    return lines


def root_record(trace: dict) -> str:
    """The first record that processed."""
    return next((span["name"] for span in trace["spans"] if span["kind"] == "process"), "")
