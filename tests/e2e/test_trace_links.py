"""Traces that go on in other IOCs: puts through Channel Access links, and what they set in motion there."""
import re

import pytest

from harness.exporter import run_exporter
from harness.ports import free_port
from harness.traces import TraceFile, root_record, tree
from harness.waiting import wait_until

SOURCE = """
    record(ao,"L:go"){field(FLNK,"L:calc")}
    record(calc,"L:calc"){field(CALC,"VAL+1") field(FLNK,"L:out")}
    record(ao,"L:out"){field(OMSL,"closed_loop") field(DOL,"L:calc") field(OUT,"K:in.VAL CA PP")}
    record(ao,"M:end"){field(FLNK,"M:end2")}
    record(calc,"M:end2"){field(CALC,"VAL+1")}

    record(ao,"L:twice"){field(FLNK,"L:fan")}
    record(fanout,"L:fan"){field(LNK1,"L:one") field(LNK2,"L:one")}
    record(ao,"L:one"){field(OUT,"K:alias CA")}

    record(ao,"L:self"){field(OUT,"L:own CA")}
    record(ao,"L:own"){field(FLNK,"L:own2")}
    record(calc,"L:own2"){field(CALC,"VAL+1")}

    record(ao,"L:wait"){field(FLNK,"L:async")}
    record(ao,"L:async"){field(DTYP,"Async Soft Channel") field(OUT,"K:slow.A CA PP") field(FLNK,"L:after")}
    record(calc,"L:after"){field(CALC,"VAL+1")}

    record(ao,"L:forward"){field(FLNK,"K:scanned.PROC CA")}
    record(ao,"L:nobody"){field(OUT,"K:none CA")}
    record(aao,"L:array"){field(FTVL,"DOUBLE") field(NELM,"6000") field(OUT,"K:array CA")}
"""
TARGET = """
    record(ao,"K:in"){field(FLNK,"K:calc")}
    record(calc,"K:calc"){field(CALC,"VAL+1") field(FLNK,"K:back")}
    record(ao,"K:back"){field(OUT,"M:end CA")}
    record(ao,"K:one"){alias("K:alias")}
    record(calcout,"K:slow"){field(CALC,"A") field(ODLY,"0.05") field(FLNK,"K:slower")}
    record(calc,"K:slower"){field(CALC,"VAL+1")}
    record(calc,"K:scanned"){field(CALC,"VAL+1")}
    record(waveform,"K:array"){field(FTVL,"DOUBLE") field(NELM,"6000")}
"""
SMALL_ARRAYS = ("env", "EPICS_CA_AUTO_ARRAY_BYTES=NO", "EPICS_CA_MAX_ARRAY_BYTES=16384")
PUTS = 23


@pytest.fixture(scope="module")
def iocs(shared):
    """The one whose records are asked for, and the one that its links lead to."""
    ports = [free_port(), free_port()]
    return [shared.ioc("trace-links", SOURCE, port=ports[0], links_to=ports),
            shared.ioc("trace-linked", TARGET, port=ports[1], links_to=ports, prefix=SMALL_ARRAYS)]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return TraceFile(tmp_path_factory.mktemp("traces") / "traces.json")


@pytest.fixture(scope="module")
def exporter(shared, iocs, told, tmp_path_factory):
    """Of the other IOC, nothing is traced but what those links begin there."""
    log = tmp_path_factory.mktemp("log") / "puts.json"
    exporter = shared.exporter(*told.options, "--traces.records=L:.*", "--collector.putlog", f"--putlog.file={log}",
                               sees=iocs)
    for ioc in iocs:
        wait_until(lambda ioc=ioc: f"ioc {ioc.name}: its server is heard" in exporter.process.stderr(),
                   "its server is heard", 60)
    source, target = iocs
    wait_until(lambda: re.search(r" 6 connected, 1 not", source.shell('dbcar "" 0')), "links are connected", 60)
    wait_until(lambda: re.search(r" 1 connected, 0 not", target.shell('dbcar "" 0')), "the link is connected")
    return exporter


def put(raw_client, ioc, pv: str, values) -> None:
    client = raw_client(ioc)
    channel = client.create(pv)
    for value in values:
        client.write(channel, value)


def begins_with(*records: str):
    return lambda trace: root_record(trace) in records


def joined(parts: list[dict]) -> dict:
    """Of one trace: the part that each span with a part below it leads to."""
    below = {part["parent_id"]: part for part in parts if "parent_id" in part}
    assert len(below) == len([part for part in parts if "parent_id" in part])
    return below


def whole_tree(part: dict, below: dict) -> list[str]:
    lines = []
    for span, line in zip(part["spans"], tree(part)):
        lines.append(line)
        if span["span_id"] in below:
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            lines += [f"{indent}{inner}" for inner in whole_tree(below[span["span_id"]], below)]
    return lines


def test_a_trace_goes_through_links_and_back(iocs, exporter, told, raw_client):
    source, target = iocs
    for value in range(PUTS):  # one after the other: links keep the last only
        put(raw_client, source, "L:go", [value])
        told.wait(value + 1, begins_with("M:end"))
    roots = told.wait(PUTS, begins_with("L:go"))
    others = told.wait(2 * PUTS, begins_with("K:in", "M:end"))
    for root in roots:
        parts = [part for part in others if part["trace_id"] == root["trace_id"]]
        assert [part["ioc"] for part in sorted(parts, key=lambda part: part["time"])] == [target.name, source.name]
        assert all("link" in part["why"] for part in parts)
        assert whole_tree(root, joined(parts)) == [
            "L:go put", "  L:go", "    L:calc", "      L:out", "        K:in.VAL link_put", "          K:in.VAL put",
            "            K:in", "              K:calc", "                K:back", "                  M:end link_put",
            "                    M:end put", "                      M:end", "                        M:end2"]
        peer = next(span for span in root["spans"] if span["kind"] == "link_put")["peer"]
        assert peer == f"127.0.0.1:{target.port}"
    assert len({root["trace_id"] for root in roots}) == PUTS
    done = run_exporter("trace", f"--url=http://127.0.0.1:{exporter.port}", "--since=1h", "L:calc")
    assert done.returncode == 0, done.stderr
    blocks = re.findall(r"^\S+  (\S+)  ca: .*\n  trace (\w+) ", done.stdout, re.MULTILINE)
    assert sorted(blocks) == sorted((name, root["trace_id"]) for root in roots
                                    for name in (source.name, target.name, source.name))


def test_a_put_that_the_next_one_overtook_began_nothing(iocs, exporter, told, raw_client):
    """The link keeps the last value: whether the first was sent by then is for the IOC's other thread to say."""
    def times_unsure() -> int:
        return int(exporter.scrape().count("ioc_exporter_dropped_total", probe="traces", reason="link_unsure"))

    before = times_unsure()
    put(raw_client, iocs[0], "L:twice", range(PUTS))
    told.wait(PUTS, begins_with("L:twice"))
    put(raw_client, iocs[0], "L:twice", [0])  # with this one it is counted where those before were not sure
    roots = told.wait(PUTS + 1, begins_with("L:twice"))
    exporter.wait_scrape(lambda page: page.count("ioc_exporter_traces_waiting") == 0 ==
                         page.total("ioc_exporter_traces_sink_waiting"), "all is told")
    puts = [span for root in roots for span in root["spans"] if span["kind"] == "link_put"]
    assert len(puts) == 2 * (PUTS + 1)
    sent = {span["span_id"] for span in puts if span.get("skipped") != "overtaken"}
    parts = told.all(begins_with("K:one"))
    parents = {part["parent_id"] for part in parts}
    traces = {span["span_id"]: root["trace_id"] for root in roots for span in root["spans"]}
    assert all(traces[part["parent_id"]] == part["trace_id"] for part in parts)
    assert len(parents) == len(parts) and parents <= sent
    assert parents == sent or times_unsure() > before


def test_a_put_that_the_server_throws_away_shifts_no_other(iocs, exporter, told, raw_client):
    """It is too large, and never heard of: those behind it are not taken for the ones before them."""
    client = raw_client(iocs[0])
    channel = client.create("L:array")
    for number in range(16):
        client.write(channel, number, count=4000 if number == 4 else 3)
        told.wait(number + 1, begins_with("L:array"))
    exporter.wait_scrape(lambda page: page.count("ioc_exporter_traces_waiting") == 0 ==
                         page.total("ioc_exporter_traces_sink_waiting"), "all is told")
    values = {span["span_id"]: root["cause"]["value"] for root in told.all(begins_with("L:array"))
              for span in root["spans"]}
    parts = told.all(begins_with("K:array"))
    assert all(values[part["parent_id"]] == part["cause"]["value"] for part in parts)
    assert {part["cause"]["value"][0] for part in parts} >= {0, 1, 2, 3, 15}


def test_a_link_to_the_same_ioc(iocs, exporter, told, raw_client):
    put(raw_client, iocs[0], "L:self", [1])
    (root,), (part,) = told.wait(1, begins_with("L:self")), told.wait(1, begins_with("L:own"))
    assert part["trace_id"] == root["trace_id"] and part["thread"] == "dbCaLink"
    assert whole_tree(root, joined([part])) == [
        "L:self put", "  L:self", "    L:own link_put", "      L:own", "        L:own2"]


def test_a_link_that_waits_for_the_other_side(iocs, exporter, told, raw_client):
    for ioc, record in zip(iocs, ("L:async", "K:slow")):  # the probe of completions comes with the first of them
        ioc.process_once(record)
        exporter.wait_scrape(lambda page, ioc=ioc, record=record: page.series(
            "epics_record_completion_duration_seconds_count", ioc=ioc.name, record=record) or ioc.process_once(record),
            "the probe of completions")
        wait_until(lambda ioc=ioc, record=record: ioc.get(f"{record}.PACT") == 0, "the record has completed")
    put(raw_client, iocs[0], "L:wait", [1])
    (root,) = told.wait(1, begins_with("L:wait"))
    (part,) = wait_until(lambda: told.all(lambda part: part.get("parent_id") == root["spans"][3]["span_id"]), "its part")
    assert part["trace_id"] == root["trace_id"] and part["cause"]["op"] == "write_notify"
    assert whole_tree(root, joined([part])) == [
        "L:wait put", "  L:wait", "    L:async asynchronous", "      K:slow.A link_put", "        K:slow.A put",
        "          K:slow asynchronous", "            K:slower", "      L:after"]


def test_a_forward_link_by_channel_access(iocs, exporter, told, raw_client):
    put(raw_client, iocs[0], "L:forward", [1])
    (root,), (part,) = told.wait(1, begins_with("L:forward")), told.wait(1, begins_with("K:scanned"))
    assert whole_tree(root, joined([part])) == [
        "L:forward put", "  L:forward", "    K:scanned.PROC link_put", "      K:scanned.PROC put", "        K:scanned"]


def test_a_link_without_a_connection(iocs, exporter, told, raw_client):
    put(raw_client, iocs[0], "L:nobody", [1])
    (root,) = told.wait(1, begins_with("L:nobody"))
    assert tree(root)[:3] == ["L:nobody put", "  L:nobody INVALID LINK", "    K:none link_put disconnected"]


def test_nothing_else_was_told(iocs, exporter, told, raw_client):
    """What others put there is not traced, and what was chosen was told."""
    def adds_up(page):
        parts = (page.total("ioc_exporter_traces_total"), page.count("ioc_exporter_traces_joined_total"),
                 page.total("ioc_exporter_traces_dropped_total"), page.count("ioc_exporter_traces_waiting"))
        return page.count("ioc_exporter_traces_chosen_total") == sum(parts) > 0

    put(raw_client, iocs[1], "K:in", range(PUTS))
    exporter.wait_scrape(lambda page: page.total("epics_record_process_total", ioc=iocs[1].name, record="K:in") ==
                         2 * PUTS, "the record has processed")
    exporter.wait_scrape(adds_up, "what was chosen was made")
    assert len(told.all(begins_with("K:in"))) == PUTS
