"""The put log's file, as the exporter writes it."""
import json
import pathlib

from .waiting import wait_until


class PutLog:
    def __init__(self, path: pathlib.Path, skip: int = 0):
        self.path = path
        self._skip = skip

    def from_now_on(self) -> "PutLog":
        return PutLog(self.path, len(self.puts()))

    @property
    def options(self) -> list[str]:
        """Each put is told, also inside the IOCs, and the server's word is heard."""
        return ["--collector.putlog", f"--putlog.file={self.path}", "--putlog.burst=0s", "--set=putlog.inside=true", "--server-probe"]

    def puts(self, **labels) -> list[dict]:
        """All that it has told until now, with these keys."""
        if not self.path.exists():
            return []
        text = self.path.read_text()
        told = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()[self._skip:]]
        return [put for put in told if labels.items() <= put.items()]

    def lost_before(self, scrape) -> int:
        """Puts that came to no sink."""
        return scrape.count("ioc_exporter_dropped_total", probe="putlog", reason="full")

    def dropped(self, scrape) -> int:
        return scrape.sink("file")["dropped"] + self.lost_before(scrape)

    def wait(self, count: int, **labels) -> list[dict]:
        """Once so many are told."""
        found: list[dict] = []

        def told() -> bool:
            found[:] = self.puts(**labels)
            return len(found) >= count

        wait_until(told, f"{count} puts in {self.path}", 60, every=0.05)
        assert len(found) == count, (len(found), count)
        return found
