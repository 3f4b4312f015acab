"""Traces: what a put set in motion is told as exactly the tree that it was."""
import getpass
import hmac

import pytest

from harness.traces import TraceFile, root_record, tree
from harness.waiting import wait_until

DATABASE = """
    record(ao,"T:set"){field(FLNK,"T:fan")}
    record(fanout,"T:fan"){field(LNK1,"T:a") field(LNK2,"T:b") field(LNK3,"T:off") field(FLNK,"T:tail")}
    record(calc,"T:a"){field(CALC,"VAL+1") field(FLNK,"T:a2")}
    record(calc,"T:a2"){field(CALC,"VAL+1")}
    record(calc,"T:b"){field(CALC,"VAL+1")}
    record(calc,"T:off"){field(CALC,"VAL+1") field(DISA,"1") field(FLNK,"T:b")}
    record(calc,"T:tail"){field(CALC,"VAL+1")}
    record(ao,"T:go"){field(FLNK,"T:slow")}
    record(calcout,"T:slow"){field(CALC,"VAL+1") field(ODLY,"2") field(FLNK,"T:after")}
    record(ao,"T:after"){field(FLNK,"T:after2")}
    record(calc,"T:after2"){field(CALC,"VAL+1")}
"""
FAN = ["T:set put", "  T:set", "    T:fan", "      T:a", "        T:a2", "      T:b", "      T:off disabled", "      T:tail"]
PUTS = 23
SALT = "sixteen or more letters"


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("traces", DATABASE)


@pytest.fixture(scope="module")
def pva_ioc(shared):
    return shared.ioc("traces-pva", 'record(ao,"TP:set"){field(FLNK,"TP:next")} record(calc,"TP:next"){}', qsrv=2)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    return TraceFile(tmp_path_factory.mktemp("traces") / "traces.json")


@pytest.fixture(scope="module")
def exporter(shared, ioc, pva_ioc, told, tmp_path_factory):
    log = tmp_path_factory.mktemp("log") / "puts.json"
    log.with_name("salt").write_text(SALT)
    exporter = shared.exporter(*told.options, "--collector.putlog", f"--putlog.file={log}",
                               f"--set=putlog.user_salt={log.with_name('salt')}", sees=[ioc, pva_ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)
    # The probe of completions comes with the first asynchronous record.
    ioc.process_once("T:slow")
    exporter.wait_scrape(lambda page: page.series("epics_record_completion_duration_seconds_count", ioc=ioc.name) or
                         ioc.process_once("T:slow"), "the probe of completions")
    wait_until(lambda: ioc.get("T:slow.PACT") == 0, "the record has completed")
    return exporter


def hashed(user: str) -> str:
    return "sha256:" + hmac.new(SALT.encode(), user.encode(), "sha256").hexdigest()[:16]


def begins_with(record: str):
    return lambda trace: root_record(trace) == record and trace["cause"]["kind"] == "ca"


def test_a_put_is_the_root_of_its_chain(ioc, exporter, told, raw_client):
    client = raw_client(ioc)
    channel = client.create("T:set")
    for value in range(PUTS):
        client.write(channel, value)
    traces = sorted(told.wait(PUTS, begins_with("T:set")), key=lambda trace: trace["time"])
    assert [trace["cause"]["value"] for trace in traces] == list(range(PUTS))
    assert [tree(trace) for trace in traces] == [FAN] * PUTS
    for trace in traces:
        cause, spans = trace["cause"], {span["name"]: span for span in trace["spans"] if span["kind"] == "process"}
        assert (cause["pv"], cause["op"]) == ("T:set", "write")
        assert cause["client"].startswith("127.0.0.1:")
        assert (cause["user"], cause["client_host"]) == (hashed("operator"), "console1")
        assert cause["seq"] > 0
        assert (trace["ioc"], trace["pid"], trace["why"]) == (ioc.name, ioc.pid, ["rate"])
        assert trace["thread"].startswith("CAS-client")
        assert "cut" not in trace
        assert spans["T:fan"]["record_type"] == "fanout" and spans["T:a"]["record_type"] == "calc"
        inner = ["T:a", "T:b", "T:tail"]
        assert spans["T:fan"]["self_ns"] == spans["T:fan"]["duration_ns"] - sum(spans[name]["duration_ns"] for name in inner)
    assert len({trace["trace_id"] for trace in traces}) == PUTS
    assert len({span["span_id"] for trace in traces for span in trace["spans"]}) == PUTS * len(FAN)


def test_an_asynchronous_record_goes_on_with_its_trace(ioc, exporter, told, raw_client):
    client = raw_client(ioc)
    channel = client.create("T:go")
    client.write(channel, 1)
    client.write(channel, 2)  # meets the record while it is active
    traces = told.wait(2, begins_with("T:go"))
    met, whole = sorted(traces, key=lambda trace: len(trace["spans"]))
    assert tree(met) == ["T:go put", "  T:go", "    T:slow active"]
    assert tree(whole) == ["T:go put", "  T:go", "    T:slow asynchronous", "      T:after", "        T:after2"]
    slow, after = whole["spans"][2], whole["spans"][3]
    assert slow["until_return_ns"] < slow["duration_ns"] and slow["duration_ns"] > 1_900_000_000
    assert after["offset_ns"] >= slow["offset_ns"] + slow["duration_ns"]
    assert slow["thread"].startswith("cb")


def test_a_put_by_pv_access_is_the_root_too(pva_ioc, exporter, told, connect_p4p):
    connect_p4p(pva_ioc, {"TP:set": 1}, 7).send()
    traces = told.wait(7, lambda trace: trace["cause"]["kind"] == "pva")
    for trace in traces:
        assert tree(trace) == ["TP:set put", "  TP:set", "    TP:next"]
        assert (trace["ioc"], trace["cause"]["pv"], trace["cause"]["client"]) == (pva_ioc.name, "TP:set", "127.0.0.1")
        assert trace["cause"]["user"] == hashed(getpass.getuser())


def test_chosen_chains_were_told(exporter, told):
    page = exporter.wait_scrape(lambda page: page.sink("file", "traces")["waiting"] == 0, "nothing waits")
    assert all(value == 0 for _, value in page.series("ioc_exporter_dropped_total", probe="traces"))
    assert len(told.all()) >= page.sink("file", "traces")["delivered"] > 0


def test_it_ends_while_an_ioc_floods(start_ioc, start_exporter, tmp_path):
    """More chains than the exporter can tell: what comes while it ends is not waited for."""
    flood = start_ioc("traces-flood", "".join(f'record(calc,"TF:{i}"){{field(SCAN,".1 second")}}' for i in range(8000)))
    exporter = start_exporter("--collector.traces", "--traces.rate=100000", f"--traces.file={tmp_path}/traces.json", sees=[flood])
    exporter.wait_scrape(lambda page: page.sink("memory", "traces")["events"] +
                         page.total("ioc_exporter_dropped_total", probe="traces") > 100_000,
                         "a flood of chains", 90)
    assert exporter.stop() == 0


LONG = """
    record(ao,"W:start"){field(FLNK,"W:seq")}
    record(seq,"W:seq"){field(DLY1,"0.05") field(DO1,"1") field(LNK1,"W:first PP") field(DLY2,"0.05") field(DO2,"2")
        field(LNK2,"W:second PP") field(DO3,"3") field(LNK3,"W:third.A") field(FLNK,"W:end")}
    record(ao,"W:first"){field(FLNK,"W:behind")}
    record(calc,"W:behind"){field(CALC,"VAL+1")}
    record(ao,"W:second"){}
    record(calc,"W:third"){field(CALC,"VAL+1")}
    record(calc,"W:end"){field(CALC,"VAL+1")}
    record(calcout,"W:out"){field(CALC,"VAL+1") field(ODLY,"0.05") field(OUT,"W:first PP")}
    record(calc,"W:poll"){field(SCAN,".1 second") field(FLNK,"W:first")}
"""


@pytest.mark.outer_bases
def test_what_takes_long(base, start_ioc, start_exporter, raw_client, tmp_path):
    """A put with callback lasts until it is done; steps of a sequence, and the output of a second phase, belong to their record."""
    told = TraceFile(tmp_path / "traces.json")
    ioc = start_ioc("traces-long", LONG, base=base)
    exporter = start_exporter(*told.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)

    def completes(page) -> bool:
        ioc.process_once("W:out")
        return bool(page.series("epics_record_completion_duration_seconds_count", ioc=ioc.name))

    exporter.wait_scrape(completes, "the probe of completions")
    wait_until(lambda: ioc.get("W:out.PACT") == 0, "the record has completed")
    ended, client = ioc.get("W:end.VAL"), raw_client(ioc)
    start, out = client.create("W:start"), client.create("W:out.PROC")
    for value in range(PUTS):
        assert client.write_notify(start, value) == 1
    for _ in range(7):
        assert client.write_notify(out, 1) == 1
    assert ioc.get("W:end.VAL") == ended + PUTS
    sequences = told.wait(PUTS, begins_with("W:start"))
    # A record that never had a value is in alarm before.
    assert [[line.replace(" INVALID UDF", "") for line in tree(trace)] for trace in sequences] == [
        ["W:start put", "  W:start", "    W:seq asynchronous", "      W:first", "        W:behind", "      W:second",
         "      W:end"]] * PUTS
    outputs = told.wait(7, begins_with("W:out"))
    assert [tree(trace) for trace in outputs] == [
        ["W:out.PROC put", "  W:out asynchronous", "    W:first", "      W:behind"]] * 7
    for trace in sequences + outputs:
        put, *others = trace["spans"]
        assert put["duration_ns"] >= max(span["offset_ns"] + span["duration_ns"] for span in others if span["name"] != "W:end")
        assert trace["cause"]["op"] == "write_notify" and "cut" not in trace
    # What polls processes the same records, and is in none of these.
    polls = told.all(lambda trace: root_record(trace) == "W:poll")
    assert polls and all(tree(trace) == ["W:poll", "  W:first", "    W:behind"] for trace in polls)


def test_a_put_that_is_given_up(ioc, exporter, told, raw_client):
    """The client leaves before its put is done."""
    client = raw_client(ioc)
    channel = client.create("T:slow.PROC")
    client.start_write_notify(channel, 1)
    client.echo()
    client.kill()
    trace, = told.wait(1, lambda trace: trace["cause"].get("op") == "write_notify" and root_record(trace) == "T:slow")
    assert tree(trace) == ["T:slow.PROC put", "  T:slow asynchronous", "    T:after", "      T:after2"]
    put, slow = trace["spans"][0], trace["spans"][1]
    assert put["duration_ns"] < slow["offset_ns"] + slow["duration_ns"]
