"""A receiver of OpenTelemetry's protocol over HTTP: requests are read by the protocol's own generated code."""
import http.server
import threading

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (ExportTraceServiceRequest,
                                                                      ExportTraceServiceResponse)


def value_of(any_value):
    value = getattr(any_value, any_value.WhichOneof("value"))
    return [value_of(each) for each in value.values] if any_value.HasField("array_value") else value


def attributes_of(pairs) -> dict:
    found = {pair.key: value_of(pair.value) for pair in pairs}
    assert len(found) == len(pairs), f"twice: {[pair.key for pair in pairs]}"
    return found


class OtlpReceiver(http.server.ThreadingHTTPServer):
    def __init__(self, port: int = 0):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
                requests.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(ExportTraceServiceResponse().SerializeToString())

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def spans(self) -> list[tuple[dict, object, object]]:
        """(attributes of the resource, the scope, the span) of all that came."""
        return [(attributes_of(resource.resource.attributes), scope.scope, span) for request in list(self.requests)
                for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]
