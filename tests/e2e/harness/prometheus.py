"""Real Prometheus servers: Debian's, and the one that scripts/make-prometheus-3.sh fetches."""
import json
import os
import pathlib
import shutil
import urllib.error
import urllib.parse
import urllib.request
from typing import Mapping, Sequence

import pytest

from .ports import free_port
from .process import Process
from .waiting import wait_until


def installed(name: str, package: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed (package {package})")
    return found


def prometheus_3() -> pathlib.Path:
    directory = os.environ.get("IOC_EXPORTER_PROMETHEUS_3")
    if not directory:
        pytest.skip("no Prometheus 3 was configured: run ./test.sh")
    made = pathlib.Path(directory)
    if (made / "skipped").exists():
        pytest.skip((made / "skipped").read_text().strip())
    if not (made / "prometheus").exists():
        pytest.skip(f"no Prometheus 3 in {made}: scripts/make-prometheus-3.sh fetches it")
    return made / "prometheus"


class Prometheus:
    """Scrapes `jobs`, name to "address:port/path", and evaluates `rules` every `interval` seconds. `more`: other sections of the
    configuration."""

    def __init__(self, log_dir: pathlib.Path, jobs: Mapping[str, str], *options: str, name: str = "prometheus",
                 binary: pathlib.Path | None = None, interval: int = 1, rules: Sequence[object] = (),
                 more: Mapping[str, dict] | None = None):
        scrapes = []
        for job, url in jobs.items():
            target, _, path = url.partition("/")
            scrapes.append({"job_name": job, "metrics_path": f"/{path}", "static_configs": [{"targets": [target]}]})
        times = {"scrape_interval": f"{interval}s", "scrape_timeout": f"{interval}s", "evaluation_interval": f"{interval}s"}
        config = {"global": times, "rule_files": [str(path) for path in rules], "scrape_configs": scrapes, **(more or {})}
        (log_dir / f"{name}.yml").write_text(json.dumps(config))  # which is YAML, too
        self.port = free_port()
        self.process = Process(name, [
            binary or installed("prometheus", "prometheus"), f"--config.file={log_dir}/{name}.yml",
            f"--storage.tsdb.path={log_dir}/{name}-tsdb", f"--web.listen-address=127.0.0.1:{self.port}", *options], log_dir)

    def api(self, path: str, **parameters):
        """The data of an answer; None while the server is starting."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            assert error.code == 503, f"{parameters}: {error.read().decode(errors='replace')}"
        except (urllib.error.URLError, ConnectionError):
            pass
        return None

    def series(self, query: str) -> list[dict]:
        data = self.api("query", query=query)
        return data["result"] if data else []

    def ranges(self, query: str, start: float, end: float) -> list[dict]:
        return self.api("query_range", query=query, start=start, end=end, step=1)["result"]

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Label sets and values of an instant query."""
        return [(found["metric"], float(found["value"][1])) for found in self.series(expression)]

    def values(self, selector: str) -> list[float]:
        """All that was scraped of the only series that matches, in the last five minutes."""
        found = self.series(f"{selector}[5m]")
        assert len(found) <= 1, found
        return [float(value) for _, value in found[0]["values"]] if found else []

    def buckets(self, selector: str) -> list[tuple[float, float]]:
        """(upper edge, count) of the buckets of the only native histogram that is selected, by edge."""
        series, = self.series(selector)
        return sorted((float(upper), float(count)) for _, _, upper, count in series["histogram"][1]["buckets"])

    def wait_scraped(self) -> "Prometheus":
        wait_until(lambda: self.query('up{job="ioc_exporter"} == 1'), "a first scrape by Prometheus")
        return self

    def kill(self) -> None:
        self.process.kill()
