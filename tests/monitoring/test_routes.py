"""The example of Alertmanager's configuration, in a real one: how many messages come of what happens at once."""
import datetime
import json
import time
import urllib.request

import pytest
import yaml

from project import ALERTS
from harness.alerting import Alertmanager, Webhook
from harness.waiting import wait_until


@pytest.fixture
def started():
    """started(x) -> x, which is ended with the test."""
    all_of_them = []

    def add(one):
        all_of_them.append(one)
        return one

    yield add
    for one in reversed(all_of_them):
        one.kill()


@pytest.fixture
def alertmanager(started, tmp_path):
    """(send, webhook): the example, with a webhook for all receivers and seconds for minutes."""
    webhook = started(Webhook())
    config = yaml.safe_load((ALERTS / "examples/alertmanager.yml").read_text())
    config["receivers"] = [{"name": one["name"]} | ({} if one["name"] == "nobody" else {
        "webhook_configs": [{"url": f"http://127.0.0.1:{webhook.port}/{one['name']}", "send_resolved": False}]})
        for one in config["receivers"]]

    def quicken(route: dict) -> None:
        for key in ("group_wait", "group_interval"):
            if key in route:
                route[key] = "2s"
        for inner in route.get("routes", []):
            quicken(inner)

    quicken(config["route"])
    for interval in config["time_intervals"]:
        if interval["name"] == "shutdown":
            interval["time_intervals"] = [{"months": ["1:12"]}]
    server = started(Alertmanager(tmp_path, webhook, config))

    def send(alerts: list[dict]) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        body = json.dumps([{"labels": {"job": "ioc_exporter", "site": "ring"} | labels, "startsAt": now} for labels in alerts])

        def sent() -> bool:
            request = urllib.request.Request(f"http://127.0.0.1:{server.port}/api/v2/alerts", body.encode(),
                                             {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60):
                    return True
            except OSError:
                return False

        wait_until(sent, "Alertmanager to take alerts")

    return send, webhook


def messages(webhook: Webhook, receiver: str) -> list[list[str]]:
    return [[alert["labels"]["alertname"] for alert in one["alerts"]] for one in list(webhook.notifications)
            if one["receiver"] == receiver]


def told_after(webhook: Webhook, receiver: str, count: int) -> list[list[str]]:
    """All that the receiver was told, some seconds after it was told of so many alerts."""
    wait_until(lambda: sum(map(len, messages(webhook, receiver))) >= count, f"{count} alerts at {receiver}")
    time.sleep(5)
    return messages(webhook, receiver)


DOWN = {"alertname": "IocExporterDown", "severity": "critical"}
IOC_DOWN = {"alertname": "EpicsIocDown", "severity": "critical"}


def test_a_subnet_that_is_lost_is_one_message(alertmanager):
    send, webhook = alertmanager
    send([DOWN | {"instance": f"h{i}:10064"} for i in range(100)])
    # Their IOCs were down before, or seem to be: that is not told.
    send([IOC_DOWN | {"instance": f"h{i}:10064", "ioc": f"ioc{i}"} for i in range(100)])
    assert told_after(webhook, "control-room", 100) == [["IocExporterDown"] * 100]


def test_ten_iocs_of_one_host_are_one_message(alertmanager):
    send, webhook = alertmanager
    send([IOC_DOWN | {"instance": "h:10064", "ioc": f"ioc{i}"} for i in range(10)])
    assert told_after(webhook, "control-room", 10) == [["EpicsIocDown"] * 10]


def test_two_prometheus_servers_tell_once(alertmanager):
    send, webhook = alertmanager
    put = {"alertname": "EpicsForbiddenPut", "severity": "critical", "instance": "h:10064", "ioc": "ps", "pv": "SR:X",
           "user": "guest", "client": "10.0.0.7", "client_host": "console1"}
    send([put])
    send([put])
    assert told_after(webhook, "forbidden-puts", 1) == [["EpicsForbiddenPut"]]
    assert messages(webhook, "policy") == [["EpicsForbiddenPut"]]


def test_what_is_forbidden_but_in_a_shutdown_is_not_told_then(alertmanager):
    send, webhook = alertmanager
    put = {"alertname": "EpicsForbiddenPut", "severity": "critical", "instance": "h:10064", "ioc": "ps", "pv": "SR:X",
           "client": "10.0.0.7"}
    send([put | {"rule": "shutdown only", "user": "expert"}, put | {"rule": "no guests", "user": "guest"}])
    assert told_after(webhook, "forbidden-puts", 1) == [["EpicsForbiddenPut"]]
    assert [alert["labels"]["user"] for one in webhook.notifications for alert in one["alerts"]] == ["guest"] * 2
