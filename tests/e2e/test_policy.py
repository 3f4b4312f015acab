"""The site's policy, from a put to the alert that a person gets."""
import pathlib
import re
import time
import urllib.request

import pytest
import yaml

from harness import clients, databases, env
from harness.alerting import Alertmanager, Webhook
from harness.prometheus import Prometheus
from harness.put_log import PutLog
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
UNEXPECTED = "epics_unexpected_puts_total"
DECIDED = "ioc_exporter_policy_puts_total"
RULES = env.E2E_DIR.parent.parent / "alerts" / "puts.yml"
LAST = "epics_last_unexpected_put_timestamp_seconds"

POLICY = """
policy:
  rules:
    - name: operators
      action: expect
      users: operator
      clients: 127.0.0.0/8
    - name: hands off
      action: forbid
      users: guest
"""


def rules_with_short_memory(log_dir: pathlib.Path) -> pathlib.Path:
    """The project's own rules, in which a run of puts ends after 20 quiet seconds instead of 10 minutes."""
    text = RULES.read_text()
    for long, count, short in (("policy:new[5m]", 1, "10s"), ("policy:new[10m]", 1, "20s"), ("policy:told[3m]", 1, "6s")):
        assert text.count(long) == count, long
        text = text.replace(long, long.partition("[")[0] + f"[{short}]")
    path = log_dir / "rules.yml"
    path.write_text(text)
    return path


class Judged:
    """An IOC whose puts are judged, its exporter, and the alerts that a person gets."""

    def __init__(self, start_ioc, start_exporter, started, log_dir):
        self._started, self._log_dir = started, log_dir
        self.webhook = started.add(Webhook())
        self.alertmanager = started.add(Alertmanager(log_dir, self.webhook))
        self.ioc = start_ioc("judged", databases.put_targets("J:", 2))
        (log_dir / "site.yml").write_text(POLICY)
        self.exporter = start_exporter(f"--config.file={log_dir}/site.yml", "--ioc.include=judged", sees=[self.ioc])
        self._rules = rules_with_short_memory(log_dir)

    def watch(self, name: str, *options: str, more=None, **settings) -> Prometheus:
        """A Prometheus that scrapes the exporter; without `more`, its alerts go to the webhook."""
        jobs = {"ioc_exporter": f"127.0.0.1:{self.exporter.port}/metrics"}
        more = self.alertmanager.alerts_of() if more is None else more
        return self._started.add(Prometheus(self._log_dir, jobs, *options, name=name, rules=[self._rules], more=more,
                                            **settings)).wait_scraped()

    def alerts(self, status: str, name: str, user: str) -> list[dict]:
        return [alert for alert in self.webhook.alerts(status)
                if alert["labels"]["alertname"] == name and alert["labels"]["user"] == user]


@pytest.fixture
def judged(start_ioc, start_exporter, started, log_dir) -> Judged:
    return Judged(start_ioc, start_exporter, started, log_dir)


def forge_scrapes(port: int, count: int) -> None:
    """Scrapes of a stranger, who says that he is the real server, and others."""
    for i in range(count):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={
            "User-Agent": "Prometheus/2.42.0" if i % 2 else f"curl/{i}", "X-Prometheus-Scrape-Timeout-Seconds": "1",
            "X-Forwarded-For": f"10.0.{i // 256}.{i % 256}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()


@pytest.mark.whole
def test_a_rogue_put_becomes_one_alert(judged, connect):
    first = judged.watch("first")

    operator = connect(clients.caproto, [judged.ioc], ["J:set1"], 23, user="operator")
    rogue = connect(clients.caproto, [judged.ioc], ["J:set1"], 1, user="rogue")
    guest = connect(clients.caproto, [judged.ioc], ["J:set2"], 7, op="write_notify", user="guest")
    operator.send()
    assert not judged.exporter.scrape().series(UNEXPECTED)
    before = time.time()
    rogue.send()
    guest.send()
    # Whoever else scrapes changes nothing: neither a stranger, at once, nor a server that comes after the puts.
    forge_scrapes(judged.exporter.port, 600)
    late = judged.watch("late", more={}, interval=3)

    # The series begin with their values: that is what an alert must see.
    for name, count in (("rogue", 1), ("guest", 7)):
        for server in (first, late):
            def all_came(server=server, name=name, count=count):
                values = server.values(f'{UNEXPECTED}{{user="{name}"}}')
                return values if values and values[-1] == count else None

            values = wait_until(all_came, f"the puts of {name} in Prometheus {server.process.name}")
            # The first may have scraped between two of them.
            assert set(values) <= (set(range(1, count + 1)) if server is first else {count})
            when, = {float(found["value"][1]) for found in server.series(f'{LAST}{{user="{name}"}}')}
            assert before <= when <= time.time()
            wait_until(lambda server=server, name=name: server.query(
                f'last_over_time(ALERTS{{alertstate="firing", alertname=~"Epics.*Put", user="{name}"}}[5m])'),
                f"the alert about {name} in Prometheus {server.process.name}")

    page = judged.exporter.request("/?format=text")[2].decode()
    assert "1 PV with forbidden puts in the last day" in page and ", 0 problems" not in page
    latest = page.partition("\nLatest puts\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert {tuple(re.split(r"  +", line.partition(" ago")[2].strip())[:3]) for line in latest[:2]} == {
        ("forbidden", "judged", "J:set2"), ("unexpected", "judged", "J:set1")}, page
    assert [line.partition(" ago")[2].split()[0] for line in latest[2:]] == ["expected"], page

    unexpected = wait_until(lambda: judged.alerts("firing", "EpicsUnexpectedPut", "rogue"),
                            "the alert about the rogue")[0]
    expected = {"ioc": "judged", "pv": "J:set1", "client": "127.0.0.1", "user": "rogue",
                "client_host": clients.HOST, "action": "unexpected", "job": "ioc_exporter"}
    assert unexpected["labels"].items() >= expected.items()
    assert unexpected["annotations"]["summary"] and "Rule: default." in unexpected["annotations"]["description"]
    forbidden = wait_until(lambda: judged.alerts("firing", "EpicsForbiddenPut", "guest"),
                           "the alert about the guest")[0]
    expected |= {"pv": "J:set2", "user": "guest", "action": "forbidden"}
    assert forbidden["labels"].items() >= expected.items()
    assert "Rule: hands off." in forbidden["annotations"]["description"]

    for name, user in (("EpicsUnexpectedPut", "rogue"), ("EpicsForbiddenPut", "guest")):
        wait_until(lambda name=name, user=user: judged.alerts("resolved", name, user),
                   f"the end of the alert about the {user}", 60)
        assert len(judged.alerts("firing", name, user)) == 1
    assert not judged.alerts("firing", "EpicsUnexpectedPut", "operator")

    # The next put of the same user is seen, too, when the run is over.
    time.sleep(12)
    connect(clients.caproto, [judged.ioc], ["J:set1"], 1, user="rogue").send()
    wait_until(lambda: len(judged.alerts("firing", "EpicsUnexpectedPut", "rogue")) == 2,
               "the alert about the rogue's second put")


@pytest.mark.whole
def test_a_forbidden_put_is_told_once_when_prometheus_was_away(judged, connect):
    def prometheus() -> Prometheus:
        # A series is gone after 5 seconds without a sample, instead of 5 minutes.
        return judged.watch("watching", "--query.lookback-delta=5s")

    def told(pv: str, status: str = "firing") -> int:
        return len([alert for alert in judged.alerts(status, "EpicsForbiddenPut", "guest")
                    if alert["labels"]["pv"] == pv])

    guest = [connect(clients.caproto, [judged.ioc], [pv], 1, user="guest") for pv in ("J:set1", "J:set2")]
    server = prometheus()
    guest[0].send()
    wait_until(lambda: told("J:set1"), "the alert about the put")
    wait_until(lambda: told("J:set1", "resolved"), "its end")

    # Away for longer than a run lasts, and than Prometheus looks back: and meanwhile, the other PV is written to.
    server.process.terminate()
    guest[1].send()
    time.sleep(22)
    server = prometheus()
    wait_until(lambda: told("J:set2"), "the alert about the put that came meanwhile")
    wait_until(lambda: told("J:set2", "resolved"), "its end")

    # Nothing new: nothing is told.
    server.process.terminate()
    time.sleep(22)
    prometheus()
    time.sleep(15)
    assert (told("J:set1"), told("J:set2")) == (1, 1)


@pytest.mark.whole
def test_a_twin_that_was_away_does_not_tell_again(judged, connect):
    """With remote_read as in the example: of two servers one is started when the other has told a put, and that is over."""
    example = yaml.safe_load((RULES.parent / "examples/prometheus.yml").read_text())["remote_read"]
    first = judged.watch("first")
    guest = [connect(clients.caproto, [judged.ioc], [pv], 1, user="guest") for pv in ("J:set1", "J:set2")]
    guest[0].send()
    wait_until(lambda: judged.alerts("resolved", "EpicsForbiddenPut", "guest"), "the end of the alert", 60)

    reads = {"remote_read": [example[0] | {"url": f"http://127.0.0.1:{first.port}/api/v1/read"}]}
    judged.watch("second", more=judged.alertmanager.alerts_of() | reads)
    time.sleep(10)
    assert len(judged.alerts("firing", "EpicsForbiddenPut", "guest")) == 1
    # Later puts are told, also when the other server is away.
    first.process.terminate()
    guest[1].send()
    told = wait_until(lambda: judged.alerts("firing", "EpicsForbiddenPut", "guest")[1:], "the second put")
    assert [alert["labels"]["pv"] for alert in told] == ["J:set2"]


def test_a_put_through_anothers_channel_is_its_senders(start_ioc, start_exporter, raw_client, log_dir):
    """The server writes it with the rights of the channel's client; the policy judges who has sent it, once."""
    ioc = start_ioc("through", databases.put_targets("T:", 2))
    put_log = PutLog(log_dir / "puts.json")
    (log_dir / "site.yml").write_text(POLICY)
    exporter = start_exporter(f"--config.file={log_dir}/site.yml", *put_log.options, sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    operator, guest = raw_client(ioc, "operator", "console1"), raw_client(ioc, "guest", "laptop")
    channel, own = operator.create("T:set1"), guest.create("T:set2")
    for i in range(23):
        operator.write(channel, i)
    operator.get(channel)
    for i in range(7):
        guest.write(channel, i)
    for i in range(5):
        guest.start_write_notify(channel, i)  # the answer goes to the channel's client
        guest.get(own)
    guest.get(own)
    assert ioc.get("T:set1:count.VAL") == 35
    page = exporter.wait_scrape(lambda page: page.total("epics_puts_total", ioc=ioc.name) == 35, "all puts")
    judged = {(labels["user"], labels["pv"], labels["client_host"], labels["action"]): count
              for labels, count in page.series(UNEXPECTED, ioc=ioc.name)}
    assert judged == {("guest", "T:set1", "laptop", "forbidden"): 12}
    assert page.count(DECIDED, rule="operators", action="expected") == 23
    assert page.count("epics_ca_puts_to_others_channels_total", ioc=ioc.name) == 12
    told = put_log.wait(35, pv="T:set1")
    owner = f"operator@127.0.0.1:{operator.port}"
    assert {(put["user"], put["client"], put.get("channel_of"), put["action"], put["status"]) for put in told} == {
        ("operator", f"127.0.0.1:{operator.port}", None, "expected", "ok"),
        ("guest", f"127.0.0.1:{guest.port}", owner, "forbidden", "ok")}
    assert sum(put["user"] == "guest" for put in told) == 12
