"""Real Prometheus and Alertmanager servers, and a webhook that keeps what it is sent."""
import http.server
import json
import pathlib
import shutil
import threading
import urllib.error
import urllib.parse
import urllib.request

import pytest

from .ports import free_port
from .process import Process
from .waiting import wait_until


def _binary(name: str, package: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed (package {package})")
    return found


def _get(url: str) -> dict | None:
    """The answer; nothing while the server is starting."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)
    except (urllib.error.URLError, ConnectionError):
        return None


class Prometheus:
    """Scrapes one exporter, as job ioc_exporter, every `interval` seconds; evaluates rules as often."""

    def __init__(self, name: str, log_dir: pathlib.Path, exporter_port: int, interval: int,
                 rules: pathlib.Path | None = None, alertmanager_port: int | None = None, *options: str,
                 more: dict | None = None):
        binary = _binary("prometheus", "prometheus")
        self.port = free_port()
        config = {
            **(more or {}),
            "global": {"evaluation_interval": f"{interval}s"},
            "scrape_configs": [{
                "job_name": "ioc_exporter", "scrape_interval": f"{interval}s", "scrape_timeout": "1s",
                "static_configs": [{"targets": [f"127.0.0.1:{exporter_port}"]}]}]}
        if rules:
            config["rule_files"] = [str(rules)]
        if alertmanager_port:
            config["alerting"] = {"alertmanagers": [
                {"static_configs": [{"targets": [f"127.0.0.1:{alertmanager_port}"]}]}]}
        path = log_dir / f"{name}.yml"
        path.write_text(json.dumps(config))  # which is YAML, too
        self.process = Process(name, [
            binary, f"--config.file={path}", f"--storage.tsdb.path={log_dir}/{name}-tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}", *options], log_dir)

    def query(self, expression: str, **more: str) -> list[dict]:
        """The result of an instant query; empty while the server is starting."""
        words = urllib.parse.urlencode({"query": expression, **more})
        answer = _get(f"http://127.0.0.1:{self.port}/api/v1/query?{words}")
        return answer["data"]["result"] if answer else []

    def values(self, selector: str) -> list[float]:
        """All that was scraped of the only series that matches, in the last five minutes."""
        found = self.query(f"{selector}[5m]")
        assert len(found) <= 1, found
        return [float(value) for _, value in found[0]["values"]] if found else []

    def wait_scraped(self) -> "Prometheus":
        wait_until(lambda: self.query('up{job="ioc_exporter"} == 1'), "a first scrape by Prometheus", 30)
        return self

    def kill(self) -> None:
        self.process.kill()


class Webhook:
    """Takes Alertmanager's notifications: `alerts` are those of all, in the order in which they came."""

    def __init__(self):
        self.notifications: list[dict] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                outer.notifications.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    name = "webhook"

    def alerts(self, status: str) -> list[dict]:
        return [alert for one in list(self.notifications) for alert in one["alerts"]
                if alert["status"] == status]

    def describe(self) -> str:
        return f"webhook: {json.dumps(self.notifications, indent=1)}"

    def kill(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Alertmanager:
    """Sends every alert to the webhook, each for itself, as soon as it may."""

    def __init__(self, log_dir: pathlib.Path, webhook: Webhook, config: dict | None = None):
        binary = _binary("prometheus-alertmanager", "prometheus-alertmanager")
        self.port = free_port()
        config = config or {
            "route": {"receiver": "test", "group_by": ["..."], "group_wait": "0s", "group_interval": "1s"},
            "receivers": [{"name": "test", "webhook_configs": [
                {"url": f"http://127.0.0.1:{webhook.port}/", "send_resolved": True}]}]}
        path = log_dir / "alertmanager.yml"
        path.write_text(json.dumps(config))
        self.process = Process("alertmanager", [
            binary, f"--config.file={path}", f"--storage.path={log_dir}/alertmanager",
            f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="], log_dir)

    def kill(self) -> None:
        self.process.kill()
