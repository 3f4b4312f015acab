"""docs/recipes.md: its configurations and queries, taken from the page, with real servers; packaging/recipes/."""
import contextlib
import http.server
import json
import re
import subprocess
import sys
import threading
import time

import pytest
import yaml

from project import ROOT, rules_test

sys.path.append(str(ROOT / "tests/e2e"))
from harness.ports import free_port  # noqa: E402
from harness.process import Process  # noqa: E402
from harness.prometheus import Prometheus, installed  # noqa: E402
from harness.waiting import wait_until  # noqa: E402

FIXTURES = ROOT / "tests/fixtures"
PAGE = (ROOT / "docs/recipes.md").read_text()
OWNERS = ROOT / "packaging/recipes/pv_owners.py"


def block(section: str, kind: str, containing: str) -> str:
    """The only such piece of code in a section of the page."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
    found, = [code for code in re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S) if containing in code]
    return found


@contextlib.contextmanager
def serving(answer):
    """A server of answer(path, headers) -> (content type, body), or a status."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            made = answer(self.path, self.headers)
            if isinstance(made, int):
                return self.send_error(made)
            kind, body = made
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def recorded(*_) -> tuple[str, bytes]:
    """A scrape that was recorded."""
    return "text/plain; version=0.0.4", (FIXTURES / "golden-scrape.txt").read_bytes()


def test_an_agent_writes_what_it_scrapes(tmp_path):
    """A second target does not answer."""
    started = []
    config = yaml.safe_load(block("Hosts behind a firewall", "yaml", "remote_write"))
    targets = config["scrape_configs"][0]["static_configs"]
    with serving(recorded) as port:
        try:
            receiver = Prometheus(tmp_path, {}, "--web.enable-remote-write-receiver", "--enable-feature=native-histograms", name="receiver")
            started.append(receiver)
            targets[0].update(targets=[f"127.0.0.1:{port}"], labels={"instance": "here:10064"})
            targets.append({"targets": [f"127.0.0.1:{free_port()}"], "labels": {"instance": "gone:10064"}})
            config["global"]["scrape_interval"] = config["global"]["scrape_timeout"] = "1s"
            config["remote_write"][0]["url"] = f"http://127.0.0.1:{receiver.port}/api/v1/write"
            (tmp_path / "agent.yml").write_text(yaml.safe_dump(config))
            started.append(Process("agent", [
                installed("prometheus", "prometheus"), "--enable-feature=agent", f"--config.file={tmp_path}/agent.yml",
                f"--storage.agent.path={tmp_path}/agent", f"--web.listen-address=127.0.0.1:{free_port()}"], tmp_path))
            up = wait_until(lambda: len(found := receiver.query("up")) == 2 and found, "the agent's targets")
            assert {labels.pop("instance"): value for labels, value in up} == {"here:10064": 1, "gone:10064": 0}
            assert all(labels == {"__name__": "up", "job": "ioc_exporter", "site": "ring"} for labels, _ in up)
            # Of one scrape all is there at some time: a connection for each part.
            for query in ('epics_puts_total{pv="PS:Q1:SetCur",op="write_notify"}',
                          'epics_record_process_duration_seconds_count{record="PS:Q1:SetCur"}'):
                found = wait_until(lambda: receiver.query(query), query)
                assert [(labels["instance"], value) for labels, value in found] == [("here:10064", 23)]
        finally:
            for process in reversed(started):
                process.kill()


def test_an_agent_that_is_gone_is_told(tmp_path):
    here, gone = ({"job": "ioc_exporter", "instance": name} for name in ("here:10064", "gone:10064"))
    told = {"exp_labels": {**gone, "severity": "critical"}, "exp_annotations": {"summary": "Nothing arrives from gone:10064"}}
    rules_test(tmp_path, {f'up{{job="ioc_exporter",instance="{here["instance"]}"}}': "1x60",
                          f'up{{job="ioc_exporter",instance="{gone["instance"]}"}}': "1x10 _x39 1x10"},
               yaml.safe_load(block("Hosts behind a firewall", "yaml", "alert")),
               alert_rule_test=[{"eval_time": f"{minute}m", "alertname": "IocExporterNotHeard", "exp_alerts": alerts}
                                for minute, alerts in ((12, []), (30, [told]), (51, []))])


CHANNELS = [
    {"name": "SR:B1:Current-SP", "owner": "ada", "properties": [{"name": "Location", "value": "sector 3", "owner": "cf", "channels": []}],
     "tags": []},
    {"name": 'SR:{"odd}\\', "owner": "b\n\ud800", "properties": [{"name": "location", "value": None}], "tags": []},
    {"name": "SR:NOBODY", "owner": "", "properties": []}]
WRITTEN = ('# HELP epics_pv_owner_info Owner of a PV, from ChannelFinder. Always 1.\n# TYPE epics_pv_owner_info gauge\n'
           'epics_pv_owner_info{pv="SR:B1:Current-SP",owner="ada",area="sector 3"} 1\n'
           'epics_pv_owner_info{pv="SR:{\\"odd}\\\\",owner="b\\n?",area=""} 1\n')


def owners(port: int, folder, *options: str) -> tuple[int, str]:
    """Exit status and errors of the page's command, with its address and file replaced."""
    command = block("Owners of PVs, from ChannelFinder", "sh", "--url").replace("\\\n", "")
    command = command.replace("python3 pv_owners.py ", f"{sys.executable} {OWNERS} ", 1).replace("http://channelfinder.example.org:8080", f"http://127.0.0.1:{port}")
    command = command.replace("/var/lib/prometheus/node-exporter", str(folder))
    done = subprocess.run(["sh", "-c", " ".join([command.strip(), *options])], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_owners_are_written(tmp_path):
    asked = []

    def answer(path: str, _):
        asked.append(path)
        return "application/json", json.dumps(CHANNELS if "SR" in path else []).encode()

    with serving(answer) as port:
        assert owners(port, tmp_path) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["pv_owners.prom"]
    assert (tmp_path / "pv_owners.prom").read_text() == WRITTEN and (tmp_path / "pv_owners.prom").stat().st_mode & 0o777 == 0o644
    assert asked == [f"/ChannelFinder/resources/channels?~name={area}%3A%2A&~size=10000&pvStatus=Active" for area in ("SR", "BR")]
    checked = subprocess.run([installed("promtool", "prometheus"), "check", "metrics"], input=WRITTEN, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("answer,error", [
    (404, "HTTP Error 404"), (b"[", "Expecting value"), (b'{"error": 1}', "not a list"), (b"[" * 100000, "recursion"),
    (b'[{"name": "A"}]', """read channel {"name": "A"}: KeyError('properties')"""), (b"[null]", "read channel null"),
    (json.dumps([CHANNELS[0]] * 10000).encode(), "10000 channels or more"), (json.dumps(CHANNELS).encode(), "write 2 PVs: more than --limit=1"),
    (None, "not done after 1 s")], ids=["status", "json", "object", "deep", "channel", "null", "window", "limit", "slow"])
def test_an_error_leaves_the_old_file(tmp_path, answer, error):
    (tmp_path / "pv_owners.prom").write_text("old")

    def made(*_):
        if answer is None:
            time.sleep(2)
        return answer if isinstance(answer, int) else ("application/json", answer or b"[]")

    with serving(made) as port:
        status, text = owners(port, tmp_path, "--limit=1", "--timeout=1" if answer is None else "--timeout=30")
    assert status == 1 and text.startswith("pv_owners.py: ") and error in text and "Traceback" not in text, text
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("pv_owners.prom", "old")]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with serving(lambda *_: ("application/json", b"[]")) as port:
        status, text = owners(port, tmp_path / "none")
    assert status == 1 and text.startswith(f"pv_owners.py: write {tmp_path}/none/pv_owners.prom: ")


def test_puts_are_joined_with_owners(tmp_path):
    query = block("Owners of PVs, from ChannelFinder", "promql", "epics_pv_owner_info")
    put = 'epics_puts_total{{job="ioc_exporter",instance="h:10064",ioc="i",pv="{}",client="{}"}}'
    owner = 'epics_pv_owner_info{{job="node",instance="h:9100",pv="{}",owner="{}",area="sector 3"}} 1'
    rules_test(tmp_path,
               {put.format("SR:B1", "a"): "0+60x10", put.format("SR:B1.VAL", "a"): "0+120x10", put.format("SR:B1", "b"): "0+60x10",
                put.format("SR:OTHER", "a"): "0+60x10", put.format("SR:UNKNOWN", "a"): "0+60x10",
                owner.format("SR:B1", "ada").removesuffix(" 1"): "1x10", owner.format("SR:OTHER", "bob").removesuffix(" 1"): "1x10"},
               promql_expr_test=[{"expr": query, "eval_time": "10m", "exp_samples": [
                   {"labels": '{owner="ada",area="sector 3"}', "value": 4}, {"labels": '{owner="bob",area="sector 3"}', "value": 1}]}])
