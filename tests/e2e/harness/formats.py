"""A real Prometheus that scrapes the exporter, and what it answers."""
import http.client
import http.server
import json
import pathlib
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Mapping, Sequence

from .ports import free_port
from .process import Process

TEXT = "text/plain;version=0.0.4"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
PROTOBUF = ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            "encoding=delimited")


class FormatProxy:
    """Passes scrapes on and asks for the format that the path names: /text, /openmetrics, /protobuf.

    A Prometheus takes what comes by its Content-Type; which format it asks for is its own affair. By any other
    path it gets what it asks for itself.
    """
    ACCEPT = {"/text": TEXT, "/openmetrics": OPENMETRICS, "/protobuf": PROTOBUF}

    def __init__(self, exporter_port: int):
        accept = self.ACCEPT
        self.content_types: dict[str, str] = {}
        self.asked: dict[str, str] = {}  # Accept headers by path
        content_types, asked = self.content_types, self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked[self.path] = accept.get(self.path, self.headers["Accept"])
                connection = http.client.HTTPConnection("127.0.0.1", exporter_port, timeout=10)
                connection.request("GET", "/metrics", headers={
                    "Accept": asked[self.path],
                    "Accept-Encoding": self.headers.get("Accept-Encoding", "identity")})
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                content_types[self.path] = answer.headers["Content-Type"]
                self.send_response(answer.status)
                for name in ("Content-Type", "Content-Encoding"):
                    if answer.headers[name]:
                        self.send_header(name, answer.headers[name])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Prometheus:
    """`jobs`: name of a job to "address:port/path"; `settings`: more of a job's configuration, by its name."""

    def __init__(self, binary: pathlib.Path | str, log_dir: pathlib.Path, jobs: dict[str, str],
                 *options: str, settings: Mapping[str, dict] | None = None, rules: Sequence[object] = ()):
        scrapes = []
        for name, url in jobs.items():
            target, _, path = url.partition("/")
            scrapes.append({"job_name": name, "metrics_path": f"/{path}",
                            "static_configs": [{"targets": [target]}], **(settings or {}).get(name, {})})
        # JSON is YAML.
        (log_dir / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules], "scrape_configs": scrapes}))
        self.port = free_port()
        self.process = Process("prometheus", [
            binary, f"--config.file={log_dir}/prometheus.yml",
            f"--storage.tsdb.path={log_dir}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}", *options], log_dir)

    def api(self, path: str, **parameters: str):
        """The data of an answer; None while it is starting."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError):
            return None

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Label sets and values of an instant query; an empty list while it is starting."""
        data = self.api("query", query=expression)
        return [(r["metric"], float(r["value"][1])) for r in data["result"]] if data else []

    def buckets(self, selector: str) -> list[tuple[float, float]]:
        """(upper edge, count) of the buckets of the only native histogram that is selected, by edge."""
        series, = self.api("query", query=selector)["result"]
        return sorted((float(upper), float(count)) for _, _, upper, count in series["histogram"][1]["buckets"])
