"""Prometheus 3 takes our rules; that it reads each format shows test_formats.py."""
import pathlib
import re

from harness.prometheus import Prometheus, prometheus_3
from harness.waiting import wait_until

ALERTS = pathlib.Path(__file__).parent.parent.parent / "alerts"


def test_prometheus_3_takes_the_rules(start_exporter, started, log_dir):
    exporter = start_exporter("--no-collector.records")
    rules = []
    for path in sorted(ALERTS.glob("*.yml")):  # as they stand, but each second
        rules.append(log_dir / f"rules-{path.name}")
        rules[-1].write_text(re.sub(r"\n +interval: \w+", "", path.read_text()))
    server = started.add(Prometheus(log_dir, {"ioc_exporter": f"127.0.0.1:{exporter.port}/metrics"}, "--enable-feature=native-histograms",
                                    binary=prometheus_3(), rules=rules))

    def evaluated() -> list[dict]:
        groups = (server.api("rules") or {"groups": []})["groups"]
        done = all(rule["health"] != "unknown" for group in groups for rule in group["rules"])
        return groups if done else []

    groups = wait_until(evaluated, "each rule was evaluated")
    assert rules and {group["file"] for group in groups} == {str(path) for path in rules}
    for rule in (rule for group in groups for rule in group["rules"]):
        assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), rule["name"]
