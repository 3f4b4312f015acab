"""ioc_exporter trace: what is asked for is shown as the tree that it was; who may ask."""
import json
import re
import subprocess

import pytest

from harness import env
from harness.exporter import run_exporter, run_exporter_as_nobody
from harness.waiting import wait_until

DATABASE = """
    record(ao,"C:set"){field(FLNK,"C:fan") field(HIGH,"5") field(HSV,"MINOR")}
    record(fanout,"C:fan"){field(LNK1,"C:a") field(LNK2,"C:off") field(FLNK,"C:tail")}
    record(calc,"C:a"){field(CALC,"VAL+1") field(FLNK,"C:a2")}
    record(calc,"C:a2"){field(CALC,"VAL+1")}
    record(calc,"C:off"){field(CALC,"VAL+1") field(DISA,"1")}
    record(calc,"C:tail"){field(CALC,"VAL+1")}
    record(ao,"C:other"){}
    record(calc,"poll:C"){field(SCAN,".1 second")}
"""
PATH = "/api/v1/traces"
ACTIONS = "ioc_exporter_http_requests_total"
# Times differ; which branch is the slowest, too.
TREE = """\
TIME  trace-command  ca: operator@console1 (127.0.0.1:PORT) put VALUE to C:set, write
  trace ID on CAS-client; chosen: asked
  START µs  DURATION µs  SELF µs
  N  N  -  put C:set
  N  N  N  └─ C:set aoALARM
  N  N  N  └─ C:fan fanout
  N  N  N  ├─ C:a calc
  N  N  N  │  └─ C:a2 calc
  N  N  N  ├─ C:off calc  skipped: disabled
  N  N  N  └─ C:tail calc
"""


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("trace-command", DATABASE)


@pytest.fixture(scope="module")
def exporter(shared, ioc):
    exporter = shared.exporter("--collector.traces", "--traces.rate=0", "--collector.putlog", "--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)
    ioc.process_once("C:set")  # a record that never processed is in alarm
    return exporter


def command(exporter, *options):
    return [str(env.exporter_binary()), "trace", f"--url=http://127.0.0.1:{exporter.port}", *options]


def asked(exporter) -> float:
    return exporter.scrape().count(ACTIONS, path=PATH)


def while_asked(exporter, work, *options, status=0) -> str:
    """Output of the command for an action that follows its request."""
    before = asked(exporter)
    with subprocess.Popen(command(exporter, "--for=8s", *options), stdout=subprocess.PIPE, text=True) as shows:
        wait_until(lambda: asked(exporter) > before, "it has asked")
        work()
        text, _ = shows.communicate(timeout=60)
        assert shows.returncode == status
    return text


def without_times(text: str) -> str:
    text = re.sub(r"(?m)^\d\d:\d\d:\d\d\.\d{6}  ", "TIME  ", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    text = re.sub(r"trace [0-9a-f]{32} on CAS-client\S*;", "trace ID on CAS-client;", text)
    text = re.sub(r"(?m)^ +\d+\.\d+ +\d+\.\d+ +(\d+\.\d+|-)  [ *] +",
                  lambda row: "  N  N  N  " if row[1] != "-" else "  N  N  -  ", text)
    text = re.sub(r"(?<=\S) {2,}(?=(skipped|MINOR))", "  ", text)
    return re.sub(r"START (µs|ms)  DURATION (µs|ms)  SELF (µs|ms)", "START µs  DURATION µs  SELF µs", text)


def write(client, record, values):
    channel = client.create(record)
    for value in values:
        client.write(channel, value)


def test_a_put_is_shown_as_its_tree(ioc, exporter, raw_client):
    client = raw_client(ioc)
    text = while_asked(exporter, lambda: write(client, "C:set", [1, 7]) or write(client, "C:other", [1]), "C:fan",
                       "--cause=ca")
    trees = [TREE.replace("VALUE", value).replace("ALARM", alarm) for value, alarm in [("1", ""), ("7", "  MINOR HIGH")]]
    assert without_times(text) == "".join(tree + "\n" for tree in trees)
    assert text.count("  * ") >= 10  # of each tree a branch, which is three records deep at least

    # The same from memory, as lines of JSON.
    done = run_exporter_as_nobody(*command(exporter, "--since=1h", "--json", "C:a2")[1:])
    assert done.returncode == 0, done.stderr
    traces = [json.loads(line) for line in done.stdout.splitlines()]
    assert [trace["cause"]["value"] for trace in traces] == [1, 7]


def test_without_traces_the_command_says_so(start_exporter):
    done = run_exporter(*command(start_exporter("--no-collector.records"), "C:a")[1:])
    assert done.returncode == 1 and "--collector.traces" in done.stderr, done


def test_where_polling_drowns_the_rest_it_says_what_to_ask_for(ioc, exporter):
    done = subprocess.run(command(exporter, "--for=12s", "poll:C"), capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"ioc_exporter trace: (\d+) of \1 traces have the cause scan: --cause=ca leaves those of puts\n", done.stderr)
    assert done.returncode == 0
    done = subprocess.run(command(exporter, "--for=12s", "--cause=scan", "poll:C"), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
