"""Traces of puts through Channel Access links: the record's trace names the PV, the other IOC's trace is its own."""
import pytest

from harness.ports import free_port
from harness.traces import TraceFile, root_record, tree
from harness.waiting import wait_until

SOURCE = """
    record(ao,"L:go"){field(FLNK,"L:out")}
    record(ao,"L:out"){field(OMSL,"closed_loop") field(DOL,"L:go") field(OUT,"K:in.VAL CA PP") field(FLNK,"L:after")}
    record(calc,"L:after"){field(CALC,"VAL+1")}
    record(ao,"L:nobody"){field(OUT,"K:none CA")}
"""
TARGET = 'record(ao,"K:in"){field(FLNK,"K:calc")} record(calc,"K:calc"){field(CALC,"VAL+1")}'
PUTS = 23


@pytest.fixture(scope="module")
def iocs(shared):
    """The one whose records put, and the one that its links lead to."""
    ports = [free_port(), free_port()]
    return [shared.ioc("trace-links", SOURCE, port=ports[0], links_to=ports), shared.ioc("trace-linked", TARGET, port=ports[1])]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return TraceFile(tmp_path_factory.mktemp("traces") / "traces.json")


@pytest.fixture(scope="module")
def exporter(shared, iocs, told):
    exporter = shared.exporter(*told.options, sees=iocs)
    wait_until(lambda: " 1 connected, 1 not" in iocs[0].shell('dbcar "" 0'), "the link is connected", 60)
    return exporter


def put(raw_client, ioc, pv: str, values) -> None:
    client = raw_client(ioc)
    channel = client.create(pv)
    for value in values:
        client.write(channel, value)


def begins_with(ioc, record: str):
    return lambda trace: trace["ioc"] == ioc.name and root_record(trace) == record


def test_a_put_through_a_link_is_a_span_with_its_pv(iocs, exporter, told, raw_client):
    source, target = iocs
    for value in range(PUTS):  # one after the other: links keep the last only
        put(raw_client, source, "L:go", [value])
        told.wait(value + 1, begins_with(target, "K:in"))
    traces = told.wait(PUTS, begins_with(source, "L:go"))
    for trace in traces:
        assert [line for line in tree(trace) if " put" not in line] == [
            "  L:go", "    L:out", "      K:in.VAL link_put", "      L:after"]
    others = told.all(begins_with(target, "K:in"))
    assert not {trace["trace_id"] for trace in traces} & {trace["trace_id"] for trace in others}
    assert not any("parent_id" in trace for trace in traces + others)


def test_a_link_without_a_connection(iocs, exporter, told, raw_client):
    put(raw_client, iocs[0], "L:nobody", [1])
    (root,) = told.wait(1, begins_with(iocs[0], "L:nobody"))
    assert [line for line in tree(root) if line.strip() != "L:nobody put"] == [
        "  L:nobody INVALID LINK", "    K:none link_put disconnected"]
