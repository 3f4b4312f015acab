"""Who wrote to a record: under each of its names, and by the IOC itself."""
import json
import time
from datetime import datetime

import pytest
from p4p.client.thread import Context

from harness import clients
from harness.exporter import run_exporter
from harness.put_log import PutLog
from harness.waiting import wait_until


def member(name: str, order: int) -> str:
    return json.dumps({"W:group": {name: {"+channel": "VAL", "+putorder": order}}})


RECORDS = f"""
record(ao, "W:set") {{ }}
alias("W:set", "W:nick")
record(ao, "W:shell") {{ }}
record(ao, "W:src") {{ field(OUT, "W:linked PP") }}
record(ao, "W:linked") {{ }}
record(ao, "W:later") {{ }}
record(ao, "W:never") {{ }}
record(ao, "W:x") {{ info(Q:group, {member("x", 0)}) }}
record(ao, "W:y") {{ info(Q:group, {member("y", 1)}) }}
"""


@pytest.fixture(params=[1, 2], ids=["qsrv1", "qsrv2"])
def ioc(start_ioc, request):
    return start_ioc(f"whowrote{request.param}", RECORDS, qsrv=request.param)


@pytest.fixture
def pva(ioc):
    with Context("pva", conf=clients.pva_client_env(ioc), useenv=False, nt=False) as context:
        yield context


def who_wrote(exporter, pv: str, *arguments):
    return run_exporter("who-wrote", f"--url=http://127.0.0.1:{exporter.port}", *arguments, pv)


def writers(exporter, pv: str) -> dict:
    said = json.loads(who_wrote(exporter, pv, "--json").stdout)
    return {(put["pv"], put["op"]): put["puts"] for put in said["puts"]}


def waits_for(exporter, pv: str, wanted: dict) -> None:
    wait_until(lambda: writers(exporter, pv) == wanted, f"{wanted} of {pv}", 60)


def start(start_exporter, ioc, source: str, *options):
    exporter = start_exporter(*options, sees=[ioc])
    exporter.wait_put_source(ioc, source, "pva")
    exporter.wait_scrape(lambda page: page.value("epics_ioc_records_watched", ioc=ioc.name) == 1, "records are counted")
    return exporter


def test_each_name_and_the_ioc_itself(ioc, start_exporter, raw_client, pva, tmp_path):
    exporter = start(start_exporter, ioc, "server", *PutLog(tmp_path / "puts.json").options)
    for value in range(7):
        pva.put("W:nick", {"value": value}, timeout=30, get=False)
    for value in range(5):
        pva.put("W:group", {"x": {"value": value}}, timeout=30, get=False)
    for value in range(3):
        ioc.put("W:shell", value)
    for value in range(2):
        ioc.put("W:src", value)
    waits_for(exporter, "W:set", {("W:nick", "put"): 7})
    waits_for(exporter, "W:x.VAL", {("W:group", "put"): 5})
    assert writers(exporter, "W:y") == {}

    for asked, itself in (("W:shell", "3 (shell)"), ("W:linked.DESC", "2 (link)")):
        done = who_wrote(exporter, asked)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"No put to {asked} was seen since counting began, ")
        assert done.stdout.endswith(f"Written by ioc {ioc.name} itself: {itself}\n")
    done = who_wrote(exporter, "W:never")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("Nobody wrote to W:never since counting began, ")

    assert exporter.request("/api/v1/who-wrote")[0] == 400
    # A name that the database got while the IOC ran.
    ioc.shell("dbCreateAlias pdbbase W:later W:new")
    client = raw_client(ioc)
    channel = client.create("W:new")
    for value in range(11):
        client.write_notify(channel, value)
    waits_for(exporter, "W:later", {("W:new", "write_notify"): 11})


def test_what_was_before_the_exporter_started(ioc, start_exporter, pva, tmp_path):
    log = PutLog(tmp_path / "puts.json")
    exporter = start(start_exporter, ioc, "server", *log.options)
    pva.put("W:nick", {"value": 1}, timeout=30, get=False)
    log.wait(1, pv="W:nick")
    exporter.stop()
    exporter = start(start_exporter, ioc, "server", *log.options)
    said, _, before = who_wrote(exporter, "W:nick").stdout.partition("\nMore puts before ")
    assert said.startswith(("Nobody wrote to W:nick since ", "No put to W:nick was seen since ")), said
    assert "in the put log's files" in before and "W:nick" in before, before
    log.path.unlink()
    assert " are not known here: open " in who_wrote(exporter, "W:nick").stdout


def test_what_packets_do_not_name(ioc, start_exporter, pva):
    """Of a group they tell no fields: the record has counted the write."""
    exporter = start(start_exporter, ioc, "packets", "--no-server-probe")
    for value in range(7):
        pva.put("W:nick", {"value": value}, timeout=30, get=False)
    for value in range(5):
        pva.put("W:group", {"y": {"value": value}}, timeout=30, get=False)
    waits_for(exporter, "W:set", {("W:nick", "put"): 7})
    done = who_wrote(exporter, "W:y")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"Written to ioc {ioc.name} by a name that is not known: 5 (pva)\n")


@pytest.mark.parametrize("source", ["server", "packets"])
def test_a_gap_in_which_probes_were_off(ioc, start_exporter, pva, source, tmp_path):
    """No record is claimed of that time, also where the IOC's records are not counted."""
    options = ["--no-collector.records", "--web.enable-lifecycle", *PutLog(tmp_path / "puts.json").options]
    exporter = start_exporter(*options, *(["--no-server-probe"] if source == "packets" else []), sees=[ioc])
    exporter.wait_put_source(ioc, source, "pva")
    pva.put("W:set", {"value": 1}, timeout=30, get=False)
    waits_for(exporter, "W:set", {("W:set", "put"): 1})

    assert exporter.request("/-/detach", "POST")[0] == 200
    done = who_wrote(exporter, "W:never")
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith("It is not known whether anybody wrote to W:never.\nNo put was seen;"), done.stdout
    assert done.stdout.endswith("\nnothing is counted: all probes are detached\n"), done.stdout
    assert "\nMore puts: none in the put log's files" in who_wrote(exporter, "W:set").stdout
    pva.put("W:set", {"value": 2}, timeout=30, get=False)
    unseen = time.time()

    assert exporter.request("/-/attach", "POST")[0] == 200
    wait_until(lambda: who_wrote(exporter, "W:never").returncode == 3, "puts are counted again", 60)
    since = json.loads(who_wrote(exporter, "W:set", "--json").stdout)["counting_since"]
    assert datetime.fromisoformat(since).timestamp() > unseen
    assert writers(exporter, "W:set") == {("W:set", "put"): 1}
    pva.put("W:set", {"value": 3}, timeout=30, get=False)
    waits_for(exporter, "W:set", {("W:set", "put"): 2})
