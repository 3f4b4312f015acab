"""A proxy between Prometheus and the exporter that chooses the format."""
import http.client
import http.server
import threading

TEXT = "text/plain;version=0.0.4"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
PROTOBUF = ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
            "encoding=delimited")


class FormatProxy:
    """Passes scrapes on and asks for the format that the path names: /text, /openmetrics, /protobuf.

    A Prometheus takes what comes by its Content-Type; which format it asks for is its own affair.
    """
    ACCEPT = {"/text": TEXT, "/openmetrics": OPENMETRICS, "/protobuf": PROTOBUF}

    def __init__(self, exporter_port: int):
        accept = self.ACCEPT
        self.content_types: dict[str, str] = {}
        content_types = self.content_types

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                connection = http.client.HTTPConnection("127.0.0.1", exporter_port, timeout=60)
                connection.request("GET", "/metrics", headers={
                    "Accept": accept[self.path],
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
