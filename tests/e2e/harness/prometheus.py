"""A real Prometheus that scrapes one exporter every second."""
import json
import pathlib
import shutil
import urllib.error
import urllib.parse
import urllib.request

import pytest

from .ports import free_port
from .process import Process
from .waiting import wait_until

CONFIG = """
global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files: ["{directory}/rules/*.yml"]
scrape_configs:
  - job_name: ioc_exporter
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Prometheus:
    """`rules`: file name to text."""

    def __init__(self, log_dir: pathlib.Path, exporter_port: int, rules: dict[str, str]):
        binary = shutil.which("prometheus")
        if not binary:
            pytest.skip("prometheus is not installed (package prometheus)")
        (log_dir / "rules").mkdir()
        for name, text in rules.items():
            (log_dir / "rules" / name).write_text(text)
        (log_dir / "prometheus.yml").write_text(CONFIG.format(directory=log_dir, port=exporter_port))
        self.port = free_port()
        self.process = Process("prometheus", [
            binary, f"--config.file={log_dir}/prometheus.yml", f"--storage.tsdb.path={log_dir}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}"], log_dir)
        wait_until(self._is_ready, "Prometheus is ready", 30)

    def kill(self) -> None:
        self.process.kill()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def get(self, path: str, **parameters):
        """The data of an API answer; AssertionError with Prometheus' own words when it is an error."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode(errors='replace')}") from None

    def series(self, query: str) -> list[dict]:
        return self.get("query", query=query)["result"]

    def ranges(self, query: str, start: float, end: float) -> list[dict]:
        return self.get("query_range", query=query, start=start, end=end, step=1)["result"]
