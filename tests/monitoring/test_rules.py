"""Alerts, recording rules, their unit tests, runbooks and the example configurations."""
import re
import shutil
import subprocess

import pytest
import yaml

from project import ALERTS, ROOT, RUNBOOKS, alerts, documented_metrics, rule_files, rules, run_tool, unknown_names

SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")


def unit_tests() -> list[dict]:
    return [test for path in sorted((ALERTS / "tests").glob("*.yml"))
            for test in yaml.safe_load(path.read_text())["tests"]]


def minutes(time: str) -> int:
    match = re.fullmatch(r"(\d+)m", time)
    assert match, f"write {time} in minutes"
    return int(match[1])


def test_prometheus_takes_the_rules():
    run_tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", *rule_files())


def test_alerts_fire_stay_silent_and_resolve():
    run_tool("promtool", "test", "rules", *sorted((ALERTS / "tests").glob("*.yml")))


def test_rules_hold_below_thanos(tmp_path):
    """Each series twice, as two Prometheus servers have it: what is told may differ, but no rule fails. That shows at any
    evaluation: there are a few only."""
    for path in sorted((ALERTS / "tests").glob("*.yml")):
        if path.stem == "told_days":  # no other rules than told.yml
            continue
        wanted = yaml.safe_load(path.read_text())
        wanted["rule_files"] = [str((path.parent / name).resolve()) for name in wanted["rule_files"]]
        wanted["evaluation_interval"] = "10m"
        for test in wanted["tests"]:
            test["input_series"] = [{**series, "series": series["series"].replace("{", f'{{replica="{replica}",', 1)}
                                    for series in test["input_series"] for replica in "ab"]
        (tmp_path / path.name).write_text(yaml.safe_dump(wanted, width=10**6))
    binary = shutil.which("promtool")
    if not binary:
        pytest.skip("promtool is not installed (package prometheus)")
    done = subprocess.run([binary, "test", "rules", *sorted(tmp_path.glob("*.yml"))], capture_output=True, text=True, timeout=600)
    told = done.stdout + done.stderr
    assert 'replica="a"' in told and "found duplicate series" not in told and "multiple matches" not in told


def asks_for(expression: str, recorded: str) -> bool:
    patterns = re.findall(r'__name__=~"([^"]*)"', expression)
    return (any(re.fullmatch(pattern, recorded) for pattern in patterns)
            or re.search(rf"(?<![\w:]){recorded}(?![\w:])", expression) is not None)


def test_groups_that_use_one_another_are_tested_in_order():
    """promtool evaluates groups in any order, a new one each time it runs, but for those that group_eval_order names; the
    others come first, with the first of these. A rule that uses what another group records is an interval late, or not."""
    found = 0
    for path in sorted((ALERTS / "tests").glob("*.yml")):
        wanted = yaml.safe_load(path.read_text())
        groups = [group for name in wanted["rule_files"]
                  for group in yaml.safe_load((path.parent / name).read_text())["groups"]]
        order = {name: at for at, name in enumerate(wanted.get("group_eval_order", []))}
        assert set(order) <= {group["name"] for group in groups}, f"{path.name}: a group that is not there"
        made = {rule["record"]: group["name"] for group in groups for rule in group["rules"] if "record" in rule}
        for group in groups:
            before = {made[record] for rule in group["rules"] for record in made if asks_for(rule["expr"], record)}
            for other in before - {group["name"]}:
                found += 1
                assert order.get(other, 0) < order.get(group["name"], 0), \
                    f"{path.name}: {group['name']} uses what {other} records, which group_eval_order has not before it"
    assert found, "no group uses another one any more"


def test_each_alert_has_such_a_test():
    complete = set()
    for test in unit_tests():
        checks = sorted((minutes(check["eval_time"]), check["alertname"], bool(check.get("exp_alerts")))
                        for check in test.get("alert_rule_test", []))
        for name in {name for _, name, _ in checks}:
            fires = [fires for _, alert, fires in checks if alert == name]
            if len(fires) >= 3 and not fires[0] and any(fires) and not fires[-1]:
                complete.add(name)
    assert complete == set(alerts())


# Alerts about no single host.
WITHOUT_INSTANCE = {"EpicsSearchStorm", "IocExporterNoTargets"}
# Alerts whose runbook another exporter has to serve.
WITHOUT_EXPORTER = WITHOUT_INSTANCE | {"IocExporterDown"}


def test_alerts_have_all_annotations():
    for name, alert in alerts().items():
        assert re.fullmatch(r"(Epics|IocExporter)[A-Z][A-Za-z]+", name)
        assert alert["labels"]["severity"] in ("critical", "warning", "info"), name
        notes = alert["annotations"]
        pages = alert["labels"]["severity"] == "critical"
        assert set(notes) >= {"summary", "description", "runbook_url"}, name
        assert {"until_morning", "command"} <= set(notes) or not pages, f"{name}: somebody is called, and not told what to do"
        assert ("group_left (area, owner)" in alert["expr"]) == (name not in WITHOUT_INSTANCE), name
        host, _, page = notes["runbook_url"].rpartition("/runbooks/")
        assert page == name and host.startswith("{{ $at := $labels.instance }}") == (name not in WITHOUT_EXPORTER), name
        assert "$labels." in notes["summary"], name
        assert ("$labels.instance" in notes["description"]) != (name in WITHOUT_INSTANCE), name


def test_recording_rules_are_named_level_metric_operations():
    pattern = (r"(job|instance|ioc)(_[a-z]+)*:(epics|ioc_exporter)_[a-z_]+"
               r":(rate5m|mean5m|max5m|increase2m|increase1h|sum|avg1h|avg1d|state|attention|last|new|known|told)")
    for rule in rules():
        assert "alert" in rule or re.fullmatch(pattern, rule["record"]), rule


def test_each_alert_has_its_page_and_each_page_its_alert():
    assert {page.stem for page in RUNBOOKS.glob("*.md")} == set(alerts())
    for page in RUNBOOKS.glob("*.md"):
        text = page.read_text()
        assert text.startswith(f"# {page.stem}\n"), page
        assert re.findall(r"^## (.*)$", text, re.M) == SECTIONS, page
        for section in re.split(r"^## .*$", text, flags=re.M)[1:]:
            assert section.strip(), f"{page}: an empty section"


def test_pages_link_to_files_and_name_metrics_that_exist():
    for page in [*RUNBOOKS.glob("*.md"), ROOT / "docs/scaling.md"]:
        text = page.read_text()
        for target, _ in LINK.findall(text):
            assert (page.parent / target).exists(), f"{page} links to {target}"
        assert not unknown_names(text), page


def test_queries_on_pages_are_some(tmp_path):
    """As one copies them: with IOC, PV and so on for names."""
    found = {code for page in RUNBOOKS.glob("*.md") for code in re.findall(r"`([^`\n]+)`", page.read_text())
             if re.search(r"\b(epics|ioc_exporter)_\w+", code) and re.search(r"[({/]", code)}
    assert len(found) > 20
    groups = [{"name": "pages", "rules": [{"record": f"query{i}", "expr": code} for i, code in enumerate(sorted(found))]}]
    (tmp_path / "pages.yml").write_text(yaml.safe_dump({"groups": groups}))
    run_tool("promtool", "check", "rules", tmp_path / "pages.yml")


def test_rules_use_metrics_that_exist():
    assert "epics_puts_total" in documented_metrics()
    unknown = {name for rule in rules() for name in unknown_names(rule["expr"])}
    unknown |= {name for alert in alerts().values() for text in alert["annotations"].values()
                for name in unknown_names(text)}
    assert not unknown


def test_example_configurations():
    run_tool("promtool", "check", "config", ALERTS / "examples/prometheus.yml")
    run_tool("amtool", "check-config", ALERTS / "examples/alertmanager.yml")


def test_a_page_comes_three_minutes_after_an_ioc_ended():
    """Also where another one of that host is down already: two by the rule, one by Alertmanager."""
    config = yaml.safe_load((ALERTS / "examples/alertmanager.yml").read_text())
    times = [route.get("group_interval", config["route"]["group_interval"]) for route in config["route"]["routes"]]
    assert (alerts()["EpicsIocDown"]["for"], set(times)) == ("2m", {"1m"})


def test_a_script_that_writes_everywhere_is_one_message():
    """Alerts about a client are grouped by client and user, neither by PV nor by IOC."""
    config = yaml.safe_load((ALERTS / "examples/alertmanager.yml").read_text())

    def takes(route: dict, labels: dict[str, str]) -> bool:
        matchers = [re.fullmatch(r'(\w+)(=~?)"(.*)"', text) for text in route["matchers"]]
        return all(re.fullmatch(one[3] if one[2] == "=~" else re.escape(one[3]), labels.get(one[1], "")) for one in matchers)

    seen = set()
    told = [alert["exp_labels"] | {"alertname": check["alertname"]} for test in unit_tests()
            for check in test.get("alert_rule_test", []) for alert in check.get("exp_alerts", [])]
    for labels in told:
        if not {"client", "user"} <= labels.keys():
            continue
        for route in config["route"]["routes"]:
            if takes(route, labels):
                grouped = route.get("group_by", config["route"]["group_by"])
                assert route.get("receiver") == "nobody" or grouped == ["alertname", "client", "user"], labels
                seen.add(labels["alertname"])
                if not route.get("continue"):
                    break
        else:
            raise AssertionError(f"{labels['alertname']} is grouped as all others are")
    assert len(seen) >= 5


def test_example_routes():
    config = ALERTS / "examples/alertmanager.yml"
    receivers = {"EpicsForbiddenPut": "forbidden-puts,policy", "EpicsUnexpectedPut": "policy",
                 "EpicsIocDown": "control-room", "EpicsScanOverrun": "experts", "EpicsPutsRefused": "nobody"}
    for name, wanted in receivers.items():
        severity = alerts()[name]["labels"]["severity"]
        told = run_tool("amtool", "config", "routes", "test", f"--config.file={config}",
                        f"alertname={name}", f"severity={severity}")
        assert told.strip() == wanted, name
