"""Where traces go: a real Zipkin, a receiver that reads OpenTelemetry's protocol by its own code. Traces are
made here, and given to the exporter's outlets by a small program."""
import calendar
import contextlib
import json
import time

import pytest

from harness.otlp_receiver import OtlpReceiver, attributes_of
from harness.ports import free_port
from harness.trace_feed import TraceFeed, Traces, process
from harness.waiting import wait_until
from harness.zipkin import Zipkin

from opentelemetry.proto.trace.v1 import trace_pb2

ODD = "Sβ:µ \"q\" \\y 'r'"
PUT = {"kind": "ca", "client": "10.0.0.7:40112", "user": "ada", "client_host": "console", "pv": "M:SET", "op": "write",
       "value": [1.5, 2, "three"], "seq": 77}


def forest() -> list[dict]:
    """A put that sets much in motion, a link to a second IOC, and what is odd."""
    make = Traces(seed=19)
    put = make.trace([
        (None, {"kind": "put", "name": "M:SET", "offset_ns": 0, "duration_ns": 903_211, "self_ns": 0}),
        (0, process("M:SET", "ao", 1_001, 900_000, alarm="MAJOR", status="HIHI")),
        (1, process("M:FAN", "fanout", 2_500, 1_999)),
        (2, process("M:A", "calc", 2_600, 999, skipped="disabled")),
        (2, process("M:B", "calc", 3_700, 1, skipped="active")),
        (2, process("M:C", "ai", 3_800, 650, alarm="INVALID", status="READ")),
        (1, process("M:SLOW", "bo", 5_000, 890_000, self_ns=700, until_return_ns=900, thread="cbLow")),
        (1, {"kind": "link_put", "name": "V:IN", "offset_ns": 6_000, "duration_ns": 200, "self_ns": 0,
             "skipped": "disconnected"})], cause=PUT, why=["rate", "alarm"])
    far = make.trace([(None, {"kind": "put", "name": "V:IN", "offset_ns": 0, "duration_ns": 5_000, "self_ns": 0}),
                      (0, process("V:IN", "longin", 500, 4_000))],
                     time="2026-11-23T06:00:00.123470000Z", ioc="VAC", pid=4711, thread="CAS-client",
                     cause={"kind": "ca", "client": "[::1]:40200", "value": "text", "op": "write"})
    far |= {"trace_id": put["trace_id"], "parent_id": put["spans"][-2]["span_id"]}  # it could not wait
    odd = make.trace([(None, process(ODD, "calc", 0, 5, cut=True))], cut=True, why=["slower"], pid=813,
                     cause={"kind": "callback"})
    del odd["ioc"]  # it is not known
    deep = make.trace([(place - 1 if place else None, process(f"D:{place}", "calc", place, 2_000 - place))
                       for place in range(900)])
    return [put, far, odd, deep]


FOREST = forest()


def expected(traces: list[dict]) -> list[dict]:
    """All spans, with the attributes that docs/traces.md promises."""
    told = []
    for trace in traces:
        second, nanoseconds = trace["time"].rstrip("Z").split(".")
        begin = calendar.timegm(time.strptime(second, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(nanoseconds)
        for place, span in enumerate(trace["spans"]):
            start = begin + span["offset_ns"]
            is_record = span["kind"] == "process"
            tags = {"epics.span": span["kind"], "epics.record" if is_record else "epics.pv": span["name"]}
            for key, tag in (("record_type", "record_type"), ("self_ns", "self_ns"), ("skipped", "skipped"),
                             ("until_return_ns", "until_return_ns"), ("alarm", "alarm"), ("status", "status"),
                             ("thread", "completed_by"), ("cut", "cut")):
                if key in span and (is_record or key not in ("self_ns", "until_return_ns")):
                    tags[f"epics.{tag}"] = span[key]
            parent, peer = span.get("parent_id"), None
            if place == 0:
                parent, cause = trace.get("parent_id"), trace["cause"]
                for key in ("scan", "client", "client_host", "user", "op", "pv"):
                    if key in cause:
                        tags[f"epics.{key}"] = cause[key]
                tags |= {"epics.cause": cause["kind"], "epics.thread": trace["thread"], "epics.tid": trace["tid"],
                         "epics.why": ",".join(trace["why"])}
                if "value" in cause:
                    value = cause["value"]
                    tags["epics.value"] = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
                if "seq" in cause:
                    tags["epics.put_seq"] = cause["seq"]
                if "cut" in trace:
                    tags["epics.trace_cut"] = True
                peer = cause.get("client")
            host, port = peer.rsplit(":", 1) if peer else (None, None)
            told.append({"trace": trace, "id": span["span_id"], "parent": parent, "name": span["name"], "start": start,
                         "end": start + span["duration_ns"], "tags": tags, "kind": span["kind"],
                         "peer": (host.strip("[]"), int(port)) if peer else None,
                         "error": f"INVALID {span['status']}" if span.get("alarm") == "INVALID" else None})
    return told


def as_zipkin(span: dict) -> dict:
    """Its API has names in lower case, and all tags are texts."""
    text = lambda value: str(value).lower() if isinstance(value, bool) else str(value)
    zipkin = {"traceId": span["trace"]["trace_id"], "id": span["id"], "name": span["name"].lower(),
              "timestamp": span["start"] // 1000, "duration": max(1, span["end"] // 1000 - span["start"] // 1000),
              "localEndpoint": {"serviceName": span["trace"].get("ioc", "unknown_service").lower()},
              "tags": {key: text(value) for key, value in span["tags"].items()}}
    if span["parent"]:
        zipkin["parentId"] = span["parent"]
    if span["kind"] != "process":
        zipkin["kind"] = "SERVER" if span["kind"] == "put" else "CLIENT"
    if span["peer"]:
        host, port = span["peer"]
        zipkin["remoteEndpoint"] = {"ipv6" if ":" in host else "ipv4": host, "port": port}
    if span["error"]:
        zipkin["tags"]["error"] = span["error"]
    return zipkin


def by_id(spans, key) -> dict:
    found = {key(span): span for span in spans}
    assert len(found) == len(spans), "a span came twice"
    return found


@pytest.fixture(scope="module")
def zipkin(shared):
    return shared.started.add(Zipkin(shared._directory))


@pytest.fixture
def feed(started, log_dir):
    return lambda *options: started.add(TraceFeed(log_dir, *options))


@pytest.fixture
def otlp():
    with contextlib.closing(OtlpReceiver()) as receiver:
        yield receiver


def small_traces(seed: int, count: int) -> list[dict]:
    make = Traces(seed)
    return [make.trace([(None, process("S:1", "calc", 0, 3_000)), (0, process("S:2", "calc", 500, 2_000))])
            for _ in range(count)]


def test_zipkin_has_exactly_the_trees(zipkin, feed):
    running = feed(f"--traces.zipkin={zipkin.url}")
    running.send(*FOREST)
    running.wait_count(len(FOREST), "delivered_total", sink="zipkin")
    for trace_id in {trace["trace_id"] for trace in FOREST}:
        told = expected([trace for trace in FOREST if trace["trace_id"] == trace_id])
        wait_until(lambda: len(zipkin.trace(trace_id)) >= len(told), "Zipkin has stored the trace")
        assert by_id(zipkin.trace(trace_id), lambda span: span["id"]) == {span["id"]: as_zipkin(span) for span in told}


def test_a_flood_is_in_zipkin_or_counted(zipkin, feed):
    before = zipkin.metric("counter.zipkin_collector.spans.http")
    traces = small_traces(1, 2_000)
    running = feed(f"--traces.zipkin={zipkin.url}")
    running.send(*traces)
    running.wait_count(0, "waiting", 300)  # as fast as Zipkin takes them
    delivered, dropped = (running.count(name) for name in ("delivered_total", "dropped_total"))
    assert delivered + dropped == 2_000 and delivered > 0
    wait_until(lambda: zipkin.metric("counter.zipkin_collector.spans.http") - before == 2 * delivered,
               "Zipkin counts what was delivered")
    assert len(zipkin.trace(traces[0]["trace_id"])) == 2


def test_otlp_has_exactly_the_trees(otlp, feed):
    running = feed(f"--traces.otlp={otlp.url}", "--set=traces.span_names=type")
    running.send(*FOREST)
    running.wait_count(len(FOREST), "delivered_total", sink="otlp")
    came = by_id(otlp.spans(), lambda one: one[2].span_id.hex())
    told = expected(FOREST)
    assert came.keys() == {span["id"] for span in told}
    kinds = {"process": trace_pb2.Span.SPAN_KIND_INTERNAL, "put": trace_pb2.Span.SPAN_KIND_SERVER,
             "link_put": trace_pb2.Span.SPAN_KIND_CLIENT}
    for span in told:
        resource, scope, got = came[span["id"]]
        ioc, pid = span["trace"].get("ioc", "unknown_service"), span["trace"]["pid"]
        host = resource["host.name"]
        assert host and resource == {
            "service.name": ioc, "service.instance.id": f"{host}:{pid}", "host.name": host,
            "process.pid": pid, "telemetry.sdk.name": "ioc_exporter", "telemetry.sdk.language": "cpp",
            "telemetry.sdk.version": "1.2.3"}
        assert (scope.name, scope.version) == ("ioc_exporter", "1.2.3")
        assert got.trace_id.hex() == span["trace"]["trace_id"]
        assert got.parent_span_id.hex() == (span["parent"] or "")
        assert (got.start_time_unix_nano, got.end_time_unix_nano) == (span["start"], span["end"])
        assert got.kind == kinds[span["kind"]]
        few = {"put": span["trace"]["cause"].get("op"), "link_put": "link_put"}
        assert got.name == few.get(span["kind"], span["tags"].get("epics.record_type"))
        tags = dict(span["tags"])
        if span["peer"]:
            tags |= {"client.address": span["peer"][0], "client.port": span["peer"][1]}
        assert attributes_of(got.attributes) == tags
        failed = trace_pb2.Status.STATUS_CODE_ERROR if span["error"] else trace_pb2.Status.STATUS_CODE_UNSET
        assert (got.status.code, got.status.message) == (failed, span["error"] or "")
    for request in otlp.requests:  # a process stands once in a request
        processes = [attributes_of(one.resource.attributes)["service.instance.id"] for one in request.resource_spans]
        assert len(set(processes)) == len(processes)


def test_a_receiver_that_is_away_or_killed_and_comes_back_has_all(feed):
    port = free_port()
    traces = small_traces(2, 900)
    running = feed(f"--traces.otlp=http://127.0.0.1:{port}")
    running.send(*traces[:300])
    wait_until(lambda: running.count("failures_total") > 0, "it was tried")
    running.wait_count(300, "waiting")
    assert running.page().sink("otlp", "traces")["events"] == 300
    came: set[str] = set()
    for end in (300, 600, 900):
        running.send(*traces[max(300, end - 300):end])
        with contextlib.closing(OtlpReceiver(port)) as receiver:
            running.wait_count(end, "delivered_total")
        came |= {span.trace_id.hex() for _, _, span in receiver.spans()}
    assert came == {trace["trace_id"] for trace in traces}
    account = running.page().sink("otlp", "traces")
    assert account["events"] == account["delivered"] == 900
