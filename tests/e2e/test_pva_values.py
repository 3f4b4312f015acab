"""What a put by PV Access writes, as the put log tells it: equal to what p4p reads afterwards. QSRV 1 and 2."""
import json
import math
import threading

import pytest
from p4p.client.thread import Context, RemoteError

from harness import clients
from harness.put_log import PutLog
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
DURATIONS = "epics_put_duration_seconds_count"
FAILURES = "epics_put_failures_total"

VALUES = {"STRING": ["one", "x" * 39], "CHAR": [-128, 127], "UCHAR": [255, 0], "SHORT": [-32768, 32767], "USHORT": [65535, 1],
          "LONG": [-2147483648, 2147483647], "ULONG": [4294967295, 1], "INT64": [-9223372036854775808, 9223372036854775807],
          "UINT64": [18446744073709551615, 1], "FLOAT": [0.5, -1.5e30], "DOUBLE": [0.1, -1e300], "ENUM": [1, 65535]}
# There is none of ENUM: QSRV 1 writes 32 bits for each of its elements of 16, QSRV 2 has no channel for it.
ARRAYS = {kind: [values, [*values, *values[:1]]] for kind, values in VALUES.items() if kind != "ENUM"}
# Fields that are no arrays of one.
FIELDS = {"V:ao.VAL": ("DOUBLE", [2.5, -7]), "V:ao.DESC": ("STRING", ["first", ""]), "V:ao.PREC": ("SHORT", [3, -1]),
          "V:ao.TPRO": ("UCHAR", [0, 0]), "V:mbbo.SHFT": ("USHORT", [65535, 0]), "V:mbbo.ZRVL": ("ULONG", [4294967295, 2]),
          "V:longout": ("LONG", [-5, 6]), "V:int64out": ("INT64", [-9007199254740993, 1]), "V:bo": ("ENUM", [1, 0]),
          "V:mbbo": ("ENUM", [15, 2]), "V:ao.SCAN": ("ENUM", [1, 0])}


def member(group: str, name: str, order: int, **more) -> str:
    return json.dumps({group: {name: {"+channel": "VAL", "+putorder": order, **{f"+{key}": value for key, value in more.items()}}}})


DATABASE = "".join(
    f'record(waveform,"V:one:{kind}"){{field(FTVL,"{kind}") field(NELM,"1")}}\n'
    f'record(waveform,"V:{kind}"){{field(FTVL,"{kind}") field(NELM,"1000")}}\n' for kind in VALUES) + f"""
    record(ao,"V:ao"){{}}
    record(longout,"V:longout"){{}}
    record(int64out,"V:int64out"){{}}
    record(bo,"V:bo"){{field(ZNAM,"Off") field(ONAM,"On")}}
    record(mbbo,"V:mbbo"){{field(ZRST,"Zero") field(TWST,"Two") field(FFST,"Last")}}
    record(ao,"V:x"){{info(Q:group,{member("V:group", "x", 0)})}}
    record(stringout,"V:y"){{info(Q:group,{member("V:group", "y", 1, type="plain")})}}
    record(ao,"V:z"){{info(Q:group,{member("V:group", "z", 2, type="any")})}}
    record(ao,"V:w"){{field(FLNK,"V:w:count") info(Q:group,{member("V:group", "w", 3, type="proc")})}}
    record(calc,"V:w:count"){{field(CALC,"VAL+1")}}
    record(ao,"V:closed"){{field(ASG,"closed")}}
    record(ao,"V:disabled"){{field(DISP,"1")}}
    record(calc,"V:links"){{}}
    record(calcout,"V:slow"){{field(CALC,"A") field(ODLY,"0.3")}}
    record(calcout,"V:never"){{field(CALC,"A") field(ODLY,"10000")}}
    record(lso,"V:lso"){{field(SIZV,"80")}}
    record(waveform,"V:five"){{field(FTVL,"LONG") field(NELM,"5")}}
"""
ACCESS = "ASG(DEFAULT){RULE(1,WRITE)}\nASG(closed){RULE(1,READ)}\n"


@pytest.fixture(scope="module", params=[1, 2], ids=["qsrv1", "qsrv2"])
def ioc(shared, request):
    ioc = shared.ioc(f"pvavalues{request.param}", DATABASE, access_security=ACCESS, qsrv=request.param)
    ioc.qsrv = request.param
    return ioc


@pytest.fixture(scope="module")
def logged(shared, ioc, tmp_path_factory):
    """The exporter and its put log."""
    put_log = PutLog(tmp_path_factory.mktemp("log") / "puts.json")
    exporter = shared.exporter(*put_log.options, "--set=putlog.answers=20s", f"--ioc.include={ioc.name}", sees=[ioc])
    exporter.wait_put_source(ioc, "server", "pva", timeout=60)
    return exporter, put_log


@pytest.fixture
def pva(ioc):
    with Context("pva", conf=clients.pva_client_env(ioc), useenv=False, nt=False) as context:
        yield context


def read(pva, name: str):
    """As the client reads it: a state by its text, if it has one."""
    value = pva.get(name, timeout=60).value
    if hasattr(value, "choices"):
        return value.choices[value.index] if value.index < len(value.choices) else value.index
    return value.tolist() if hasattr(value, "tolist") else value


def put(pva, name: str, value, request: str | None = None) -> str:
    """The server's word for what became of it."""
    try:
        pva.put(name, value if isinstance(value, dict) else {"value": value}, timeout=60, request=request, get=False)
    except RemoteError as error:
        return str(error)
    return "ok"


def put_each(pva, puts: dict[str, list]) -> dict[str, list]:
    """What the client reads before the first, and after each."""
    seen = {}
    for name, values in puts.items():
        seen[name] = [read(pva, name)]
        for value in values:
            assert put(pva, name, value) == "ok"
            seen[name].append(read(pva, name))
    return seen


def expect_told(put_log, ioc, seen: dict[str, list], types: dict[str, str]) -> None:
    for name, (*_, last) in seen.items():
        told = put_log.wait(len(seen[name]) - 1, ioc=ioc.name, pv=name)
        assert [one.get("value") for one in told] == seen[name][1:], name
        # Of an array that nobody has written a client reads one 0.
        assert [one.get("old") for one in told][1:] == seen[name][1:-1], name
        for one in told:
            count = len(one["value"]) if isinstance(one["value"], list) else 1
            assert (one["type"], one["count"], one["status"], one["op"]) == (f"DBR_{types[name]}", count, "ok", "put")
            assert one["seconds"] > 0 and "value_unknown" not in one and "fields" not in one
            assert one["user"] == clients.LIBCA_USER and one["client"].startswith(clients.LOOPBACK)


def test_each_type_as_a_scalar(ioc, logged, pva):
    puts = {f"V:one:{kind}": values for kind, values in VALUES.items()}
    expect_told(logged[1], ioc, put_each(pva, puts), {name: name.rpartition(":")[2] for name in puts})


def test_each_type_as_an_array(ioc, logged, pva):
    puts = {f"V:{kind}": values for kind, values in ARRAYS.items()}
    expect_told(logged[1], ioc, put_each(pva, puts), {name: name.rpartition(":")[2] for name in puts})


def test_fields_of_records(ioc, logged, pva):
    seen = put_each(pva, {name: values for name, (_, values) in FIELDS.items()})
    expect_told(logged[1], ioc, seen, {name: kind for name, (kind, _) in FIELDS.items()})
    told = logged[1].puts(ioc=ioc.name, pv="V:bo")
    assert [(one["value"], one["sent"], one["old"]) for one in told] == [("On", 1, "Off"), ("Off", 0, "On")]


def test_texts_in_arrays_of_characters(ioc, logged, pva):
    for pv in ("V:lso", "V:CHAR", "V:UCHAR"):
        before = len(logged[1].puts(ioc=ioc.name, pv=pv))
        is_array = hasattr(pva.get(pv, timeout=30).value, "tolist")
        for text in ("/data/run_7", "/data/µ_11"):
            characters = [byte - 256 if byte > 127 and pv == "V:CHAR" else byte for byte in text.encode() + b"\0"]
            assert put(pva, pv, characters if is_array else text) == "ok"
        first, second = logged[1].wait(before + 2, ioc=ioc.name, pv=pv)[before:]
        assert (first["value"], second["value"], second["old"]) == ("/data/run_7", "/data/µ_11", "/data/run_7")
        assert "sent" not in first and "sent" not in second


def test_no_more_than_the_field_takes(ioc, logged, pva):
    assert put(pva, "V:five", list(range(1, 10))) == "ok"
    told, = logged[1].wait(1, ioc=ioc.name, pv="V:five")
    assert (told["value"], told["sent"], told["count"]) == ([1, 2, 3, 4, 5], list(range(1, 10)), 9)
    assert read(pva, "V:five") == [1, 2, 3, 4, 5]


def test_a_group_is_one_put_with_its_members(ioc, logged, pva):
    _, put_log = logged
    for number, text in ((6, "six"), (7, "seven")):
        assert put(pva, "V:group", {"x": {"value": number}, "y": text, "z": number / 2}) == "ok"
    told = put_log.wait(2, ioc=ioc.name, pv="V:group")
    assert ioc.get("V:w:count.VAL") == 2  # was processed, and not written

    def members(number, text, old, old_text, old_half):
        written = [{"field": "V:x.VAL", "type": "DBR_DOUBLE", "count": 1, "value": number, "old": old},
                   {"field": "V:y.VAL", "type": "DBR_STRING", "count": 1, "value": text, "old": old_text},
                   {"field": "V:z.VAL", "type": "DBR_DOUBLE", "count": 1, "value": number / 2, "old": old_half}]
        return written[:-1] if ioc.qsrv == 1 else written  # which reads members of type "any" only

    assert [one["fields"] for one in told] == [members(6, "six", 0, "", 0), members(7, "seven", 6, "six", 3)]
    assert (read(pva, "V:x"), read(pva, "V:y"), read(pva, "V:z")) == (7, "seven", 0 if ioc.qsrv == 1 else 3.5)
    for one in told:
        assert one["status"] == "ok" and one["seconds"] > 0 and "value" not in one and "value_unknown" not in one
    assert put(pva, "V:group", {"y": "alone"}) == "ok"
    *_, one = put_log.wait(3, ioc=ioc.name, pv="V:group")
    assert one["fields"] == [{"field": "V:y.VAL", "type": "DBR_STRING", "count": 1, "value": "alone", "old": "seven"}]
    assert {one["pv"] for one in put_log.puts(ioc=ioc.name)}.isdisjoint({"V:y", "V:z", "V:w"})


def test_process_options(ioc, logged, pva):
    _, put_log = logged
    name = "V:ao.HIGH"
    for number, option in enumerate(("", "process=true", "process=false", "process=passive", "block=true",
                                     "process=true,block=true")):
        assert put(pva, name, number, f"record[{option}]field(value)" if option else None) == "ok"
    told = put_log.wait(6, ioc=ioc.name, pv=name)
    assert [one["value"] for one in told] == list(range(6))
    assert [one["old"] for one in told] == [0, *range(5)]
    assert [one.get("process") for one in told] == [None, "true", "false", None, None, "true"]
    assert [one.get("block") for one in told] == [None] * 4 + [True] * 2
    assert put(pva, "V:group", {"x": {"value": 9}}, "record[process=false]") == "ok"
    wait_until(lambda: [one for one in put_log.puts(ioc=ioc.name, pv="V:group") if one.get("process") == "false"],
               "the group's put is told")
    before = len(put_log.puts(ioc=ioc.name, pv="V:group"))
    assert put(pva, "V:group", {"x": {"value": 10}}, "record[block=true]") == "ok"
    assert "block" not in put_log.wait(before + 1, ioc=ioc.name, pv="V:group")[-1]  # groups never wait


def test_a_put_that_waits_for_a_busy_record_is_told_with_what_it_writes(ioc, logged, pva):
    exporter, put_log = logged
    with Context("pva", conf=clients.pva_client_env(ioc), useenv=False, nt=False) as other:
        for context in (pva, other):
            context.get("V:slow.A", timeout=60)
        threads = [threading.Thread(target=put, args=(context, "V:slow.A", number, "record[block=true]field(value)"))
                   for context, number in ((pva, 1), (other, 2))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    told = put_log.wait(2, ioc=ioc.name, pv="V:slow.A")
    assert {one["value"] for one in told} == {1, 2}
    assert {one["old"] for one in told} in ({0, 1}, {0, 2})
    assert all(one["block"] and one["status"] == "ok" and one["seconds"] >= 0.3 for one in told)
    exporter.wait_scrape(lambda page: page.value(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:slow.A") == 2, "their durations")


def test_what_the_server_refuses_and_what_it_takes_for_links(ioc, logged, pva):
    exporter, put_log = logged
    assert "not permitted" in put(pva, "V:closed", 5)
    assert put(pva, "V:disabled", 5) != "ok"
    assert put(pva, "V:links.INPA", "V:ao.VAL CP MS") == "ok"
    closed, = put_log.wait(1, ioc=ioc.name, pv="V:closed")
    assert (closed["status"], closed["value_unknown"]) == ("no_write_access", "not_written") and "value" not in closed
    disabled, = put_log.wait(1, ioc=ioc.name, pv="V:disabled")
    assert disabled["status"] == "put_failed"
    assert disabled["value_unknown"] == "not_written" and "value" not in disabled
    link, = put_log.wait(1, ioc=ioc.name, pv="V:links.INPA")
    assert (link["value"], link["status"]) == ("V:ao.VAL CP MS", "ok") and "old" not in link
    page = exporter.wait_scrape(lambda page: page.total(FAILURES, ioc=ioc.name) >= 2, "the failures")
    assert page.value(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:disabled") == 1
    assert page.value(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:links.INPA") == 1
    assert not page.series(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:closed")


def test_a_client_that_leaves_before_the_end(ioc, logged, connect_p4p):
    exporter, put_log = logged
    waits = connect_p4p(ioc, {"V:never.A=notify": 3}, 1)
    waits.send_line("go")
    wait_until(lambda: ioc.get("V:never.A") == 3, "the IOC has it")
    waits.kill()
    told, = put_log.wait(1, ioc=ioc.name, pv="V:never.A")
    assert (told["value"], told["block"], told["status"]) == (3, True, "cancelled")
    page = exporter.wait_scrape(
        lambda page: page.value(FAILURES, ioc=ioc.name, protocol="pva", pv="V:never.A", reason="cancelled") == 1, "it is counted")
    assert not page.series(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:never.A")


def test_nothing_is_lost_or_doubled(ioc, logged, pva):
    """More than one event of each put is in the ring."""
    exporter, put_log = logged
    values = [math.sqrt(number) for number in range(503)]
    for value in values:
        assert put(pva, "V:ao.LOW", value) == "ok"
    told = put_log.wait(503, ioc=ioc.name, pv="V:ao.LOW")
    assert [one["value"] for one in told] == values
    page = exporter.wait_scrape(lambda page: page.value(DURATIONS, ioc=ioc.name, protocol="pva", pv="V:ao.LOW") == 503,
                                "their durations")
    for reason in ("full", "lost"):
        assert page.count("ioc_exporter_dropped_total", probe="putlog", reason=reason) == 0
