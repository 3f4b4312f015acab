"""Writes within an IOC, by clients in its own process: each is counted once, and told with its writer."""
from collections import Counter

import pytest

from harness import env
from harness.put_log import PutLog
from harness.raw_client import ECA_NORMAL
from harness.scrape import PUTS
from harness.traces import TraceFile, root_record, tree
from harness.waiting import wait_until

WRITES = "epics_record_writes_total"
UNEXPECTED = "epics_unexpected_puts_total"
BASES = ["7.0.4", "7.0.10"]

RECORDS = """
record(ao, "I:src") { field(OUT, "I:dst CA") }
record(ao, "I:dst") { field(FLNK, "I:dst:n") }
record(calc, "I:dst:n") { field(CALC, "VAL+1") }
record(calc, "I:watches") { field(INPA, "I:dst CP") field(CALC, "VAL+1") }
record(ao, "I:set") { field(FLNK, "I:set:n") }
record(calc, "I:set:n") { field(CALC, "VAL+1") }
record(bo, "I:bo") { field(ZNAM, "Off") field(ONAM, "On") }
record(sub, "I:support") { field(SNAM, "putInside") field(FLNK, "I:support:n") }
record(calc, "I:support:n") { field(CALC, "VAL+1") }
record(sub, "I:describes") { field(SNAM, "putInside") field(FLNK, "I:set") }
"""
POLICY = """
policy:
  rules:
    - {name: the good one, action: expect, inside: true, pvs: 'I:set', users: seqGood}
    - {name: no other, action: forbid, inside: true, pvs: 'I:set'}
    - {name: operators, action: expect, users: operator}
"""


@pytest.fixture(params=BASES)
def ioc(request, start_ioc):
    return start_ioc("inside" + request.param.replace(".", ""), RECORDS, base=request.param,
                     lib_dir=env.base_dir(request.param) / "lib")


def inside(ioc, thread, pv, count, kind):
    ioc.shell(f"insideClient {thread} {pv} {count} {kind}")
    ioc.process.wait_for(f"^@put {thread}$")


def by_link(ioc, count):
    """Values of I:src, each after the one before has come to I:dst."""
    for value in range(1, count + 1):
        ioc.put("I:src", value)
        wait_until(lambda value=value: ioc.get("I:dst:n.VAL") == value, "the link's write")


def test_each_write_has_its_writer(ioc, start_exporter, raw_client, tmp_path):
    site = tmp_path / "site.yml"
    site.write_text(POLICY)
    log = PutLog(tmp_path / "puts.json")
    exporter = start_exporter(*log.options, f"--config.file={site}", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    wait_until(lambda: exporter.scrape().value("epics_ioc_records_watched", ioc=ioc.name) == 1, "records are counted")

    by_link(ioc, 7)
    inside(ioc, "seqGood", "I:set", 23, 0)
    inside(ioc, "seqBad", "I:set", 11, 1)
    inside(ioc, "seqOn", "I:bo", 1, 0)
    client = raw_client(ioc)
    channel = client.create("I:set")
    assert [client.write_notify(channel, 100 + value) for value in range(5)] == [ECA_NORMAL] * 5
    assert ioc.get("I:set:n.VAL") == 23 + 11 + 5

    told = log.wait(7 + 23 + 11 + 1 + 5)
    assert Counter((put["pv"], put["client"].partition(":")[0] if "inside" not in put else put["client"],
                    put.get("inside", False), put["op"]) for put in told) == Counter({
        ("I:dst", "I:src", True, "write"): 7, ("I:set", "seqGood", True, "write"): 23,
        ("I:set", "seqBad", True, "write_notify"): 11, ("I:bo", "seqOn", True, "write"): 1,
        ("I:set", "127.0.0.1", False, "write_notify"): 5})
    assert [(put["old"], put["value"]) for put in told if put["pv"] == "I:dst"] == [(i, i + 1) for i in range(7)]
    assert [(put["old"], put["value"]) for put in told if put["client"] == "seqGood"] == [(i, i + 1) for i in range(23)]
    bad = [put for put in told if put["client"] == "seqBad"]
    assert [(put["value"], put["status"], put["action"], put["rule"]) for put in bad] == [
        (i, "ok", "forbidden", "no other") for i in range(1, 12)]
    assert all(put["seconds"] > 0 for put in bad)
    switched, = (put for put in told if put["pv"] == "I:bo")
    assert (switched["old"], switched["value"], switched["action"], switched["rule"]) == ("Off", "On", "expected", "default")

    page = exporter.scrape()
    writes = {(labels["record"], labels["source"]): value for labels, value in page.series(WRITES, ioc=ioc.name)}
    assert writes == {("I:src", "shell"): 7, ("I:dst", "link"): 7, ("I:set", "inside"): 34, ("I:set", "ca"): 5,
                      ("I:bo", "inside"): 1}
    assert page.total(PUTS, ioc=ioc.name) == 5, "those of clients alone"
    assert {(labels["pv"], labels["client"], labels["rule"]): value
            for labels, value in page.series(UNEXPECTED, ioc=ioc.name)} == {("I:set", "seqBad", "no other"): 11}
    assert page.count("ioc_exporter_dropped_total", probe="ca_server_probe", reason="full") == 0


def test_what_a_write_processes_is_its_part_in_traces(ioc, start_exporter, raw_client, tmp_path):
    told, log = TraceFile(tmp_path / "traces.json"), PutLog(tmp_path / "puts.json")
    exporter = start_exporter(*told.options, *log.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    wait_until(lambda: exporter.scrape().value("epics_ioc_records_watched", ioc=ioc.name) == 1, "records are counted")

    def of_client(client):
        return lambda trace: trace["cause"].get("client") == client

    def causes(traces):
        return [(trace["cause"]["kind"], trace["cause"]["pv"], trace["cause"]["op"], trace["cause"]["value"])
                for trace in sorted(traces, key=lambda trace: trace["time"])]

    inside(ioc, "seqPlain", "I:set", 23, 0)
    inside(ioc, "seqSync", "I:set", 11, 1)
    by_link(ioc, 7)
    set_by = ["I:set inside_put", "  I:set", "    I:set:n"]
    plain, sync = told.wait(23, of_client("seqPlain")), told.wait(11, of_client("seqSync"))
    assert [tree(trace) for trace in plain + sync] == [set_by] * 34
    assert causes(plain) == [("other", "I:set", "write", value) for value in range(1, 24)]
    assert causes(sync) == [("other", "I:set", "write_notify", value) for value in range(1, 12)]
    assert {trace["thread"] for trace in plain} == {"seqPlain"}
    linked = told.wait(7, of_client("I:src"))
    assert [tree(trace) for trace in linked] == [["I:dst inside_put", "  I:dst", "    I:dst:n"]] * 7
    assert causes(linked) == [("other", "I:dst", "write", value) for value in range(1, 8)]

    # Within a record's processing the record is above; nothing is part of a write that processes nothing.
    client = raw_client(ioc)
    ioc.shell("supportWrites I:set")
    for value in range(5):
        client.write(client.create("I:support.A"), value)
    assert [tree(trace) for trace in told.wait(5, lambda trace: root_record(trace) == "I:support")] == [
        ["I:support.A put", "  I:support", *("    " + line for line in set_by), "    I:support:n"]] * 5
    ioc.shell("supportWrites I:set.DESC")
    for value in range(5):
        client.write(client.create("I:describes.A"), value)
    assert [tree(trace) for trace in told.wait(5, lambda trace: root_record(trace) == "I:describes")] == [
        ["I:describes.A put", "  I:describes", "    I:set", "      I:set:n"]] * 5
    assert not any(trace.get("cut") for trace in told.all())
