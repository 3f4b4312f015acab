"""The mixin: what is checked in is what it renders, and its settings reach where they say."""
import json
import re
import sys

import yaml

from project import ALERTS, DASHBOARDS, ROOT, RUNBOOKS, run_tool

sys.path.append(str(ROOT / "mixin"))
import render  # noqa: E402

WITHOUT_ALERTS = {"dashboards/exporter.json", "dashboards/overview.json", "dashboards/records.json"}
SITE = """{ _config+:: {
  job: 'epics', runbookURLPattern: 'https://wiki.site/epics/%(alert)s', ratesIntervalSeconds: 120,
  putStormFactor: 23, exporterScheme: 'https', exporterPort: 443, loki: false, dashboardTags: ['ring'], overheadShare: 0.24,
  archiverURL: 'https://archiver.site/ui?pv=', phoebusApplication: 'probe',
} }"""


def test_files_are_rendered_by_the_mixin():
    made = render.rendered()
    there = {str(path.relative_to(ROOT)): path.read_text() for folder, kind in ((ALERTS, "yml"), (DASHBOARDS, "json"))
             for path in folder.glob(f"*.{kind}")}
    assert made.keys() == there.keys()
    for name, text in made.items():
        assert text == there[name], f"{name} is not what python mixin/render.py writes"


def test_settings_of_a_site_apply_everywhere(tmp_path):
    made = render.rendered(SITE)
    rules = {name: text for name, text in made.items() if name.startswith("alerts/")}
    for name, text in made.items():
        assert "/runbooks/" not in text and 'job="ioc_exporter"' not in text, name
        assert ("https://wiki.site/epics/" in text) == (name not in WITHOUT_ALERTS), name
    assert 'up{job="epics"}' in rules["alerts/exporter.yml"] and "> 0.24" in rules["alerts/exporter.yml"]
    puts = yaml.safe_load(rules["alerts/puts.yml"])
    hourly = [rule["expr"] for group in puts["groups"] for rule in group["rules"]
             if re.fullmatch("ioc_(pv|client_user):epics_puts:avg1h", rule.get("record", ""))]
    assert "120 * sum_over_time(job_probe_reason:" in made["dashboards/exporter.json"]
    assert len(hourly) == 2 and all(expr.endswith("/ 30") for expr in hourly), "the minutes of an hour, by twos"
    assert rules["alerts/puts.yml"].count("23 times") == 2 and rules["alerts/puts.yml"].count("<= 23 *") == 2
    assert '"ring"' in made["dashboards/puts.json"] and '"epics"' not in made["dashboards/puts.json"]
    for name in ("iocs", "exporter"):
        assert '\\"https://$1\\"' in made[f"dashboards/{name}.json"] and '\\"$1:443\\"' in made[f"dashboards/{name}.json"], name
    assert "oki" in render.rendered()["dashboards/puts.json"] and "oki" not in made["dashboards/puts.json"]
    for name in ("puts", "records", "drivers"):
        there = {one["name"]: one["query"] for one in json.loads(made[f"dashboards/{name}.json"])["templating"]["list"]
                 if one["type"] == "constant" and one["skipUrlSync"]}
        assert there == {"archiver": "https://archiver.site/ui?pv=", "phoebus": "probe"}, name
    for name, text in rules.items():
        (tmp_path / name.replace("/", "-")).write_text(text)
    run_tool("promtool", "check", "rules", *tmp_path.glob("*.yml"))


def test_only_expected_iocs_call_somebody(tmp_path):
    """The alerts' own test of ends, with this setting."""
    (tmp_path / "iocs.yml").write_text(render.rendered("{ _config+:: { pageExpectedIocsOnly: true } }")["alerts/iocs.yml"])
    wanted = yaml.safe_load((ALERTS / "tests/iocs.yml").read_text())
    ends = next(test for test in wanted["tests"] if test["name"] == "EpicsIocStopped")
    critical = {"expr": 'count by (ioc) (ALERTS{alertstate="firing", severity="critical"})', "eval_time": "71m",
                "exp_samples": [{"labels": '{ioc="listed"}', "value": 1}]}
    told = {"expr": 'count(ALERTS{alertstate="firing", severity="info"})', "eval_time": "60m",
            "exp_samples": [{"labels": "{}", "value": 5}]}
    wanted["rule_files"] = ["iocs.yml"]
    wanted["tests"] = [{key: ends[key] for key in ("interval", "input_series")} | {"promql_expr_test": [critical, told]}]
    (tmp_path / "test.yml").write_text(yaml.safe_dump(wanted, width=10**6))
    run_tool("promtool", "test", "rules", tmp_path / "test.yml")


def test_a_prometheus_that_does_not_know_keep_firing_for():
    """Before 2.42: the same, without that."""
    made, without = render.rendered(), render.rendered("{ _config+:: { keepFiring: false } }")
    for name, text in made.items():
        assert without[name] == re.sub(r" +keep_firing_for: \w+\n", "", text), name
    assert {name for name, text in made.items() if "keep_firing_for" in text} == {
        f"alerts/{topic}.yml" for topic in ("drivers", "exporter", "iocs", "puts")}


def test_it_is_laid_out_as_mixins_are():
    made = render.evaluate()
    assert made["alerts"] and made["rules"] and set(made["dashboards"]) == {path.name for path in DASHBOARDS.glob("*.json")}
    assert (ROOT / "mixin/jsonnetfile.json").exists()
    pages = {rule["annotations"]["runbook_url"].rpartition("/")[2] for group in made["alerts"] for rule in group["rules"]
             if "alert" in rule}
    assert pages == {page.stem for page in RUNBOOKS.glob("*.md")}
