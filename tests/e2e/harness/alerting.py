"""A real Alertmanager, and a webhook that keeps what it is sent."""
import http.server
import json
import pathlib
import threading

from .ports import free_port
from .process import Process
from .prometheus import installed


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
        binary = installed("prometheus-alertmanager", "prometheus-alertmanager")
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

    def alerts_of(self) -> dict:
        """The section of a Prometheus' configuration that sends alerts here."""
        return {"alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{self.port}"]}]}]}}

    def kill(self) -> None:
        self.process.kill()
