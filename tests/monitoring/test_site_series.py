"""With --series=site: what rules and dashboards ask for is on that page, too."""
import functools
import re
import sys

from prometheus_client.parser import text_string_to_metric_families

from project import ROOT, rules
from test_dashboards import panels, queries
from test_panels import HERE, TYPED, check, inner, query

sys.path.append(str(ROOT / "tests/e2e"))
from harness.grafana import fill  # noqa: E402

SELECTOR = re.compile(r"(?<![\w:\"$])((?:epics|ioc_exporter|process)_\w+)(?![\w:(])(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')
ALL = {"job": ".*", "instance": ".*", "ioc": ".*", **{name: ".*" for name in TYPED}, "exporter": "", "archiver": "", "phoebus": "",
       "__rate_interval": "5m", "__range": "1h", "__interval": "1m"}
BY_TYPE = ("epics_record_process_duration_seconds", "epics_record_process_self_seconds", "epics_record_completion_duration_seconds")
INFOS = ("epics_pv_info",)
HOLDS = {"=": lambda value, wanted: value == wanted, "!=": lambda value, wanted: value != wanted,
         "=~": lambda value, wanted: re.fullmatch(wanted, value) is not None,
         "!~": lambda value, wanted: re.fullmatch(wanted, value) is None}


@functools.cache
def page(site: bool) -> dict[str, list[dict[str, str]]]:
    """The labels of all series, by name. What a site's page leaves out is held to the program by tests/e2e/test_site_series.py."""
    found: dict[str, list[dict[str, str]]] = {}
    for family in text_string_to_metric_families((ROOT / "tests/fixtures/golden-scrape.txt").read_text()):
        for sample in family.samples if not site or family.name not in INFOS else ():
            labels = dict(sample.labels)
            if site and family.name in BY_TYPE and labels.pop("record"):
                labels["record_type"] = "ai"
            if site and family.name == "epics_put_duration_seconds":
                labels["pv"] = "(other)"
            found.setdefault(sample.name, []).append(labels)
    return found


def finds(site: bool, name: str, matchers: str) -> bool:
    wanted = [(label, op, value) for label, op, value in MATCHER.findall(matchers) if label not in ("job", "instance")]
    return any(all(HOLDS[op](labels.get(label, ""), value) for label, op, value in wanted) for labels in page(site).get(name, []))


def asked_for() -> list[tuple[str, str, str]]:
    """(who asks, metric, matchers)."""
    texts = [(rule.get("alert", rule.get("record")), rule["expr"]) for rule in rules()]
    texts += [(name, fill(query, **ALL)) for name, query, _ in queries()]
    return [(who, name, matchers) for who, text in texts
            for name, matchers in SELECTOR.findall(re.sub(r"\b(?:by|on|without|ignoring|group_left|group_right) ?\([^)]*\)", "", text))]


def test_what_rules_and_panels_ask_for_is_there():
    on_all = [one for one in asked_for() if finds(False, *one[1:])]
    assert len({name for _, name, _ in on_all}) > 60 and any("duration" in name for _, name, _ in on_all)
    assert not [one for one in on_all if not finds(True, *one[1:])]


def test_panels_of_durations_have_the_record_type():
    """A sum by record alone would be one of all types."""
    tables = [(name, panel) for name, panel in panels() if panel["type"] == "table"
              and any(family in target["expr"] for family in BY_TYPE for target in panel["targets"])]
    assert len(tables) == 3
    for name, panel in tables:
        assert "--series=site" in panel["description"], name
        assert any(override["matcher"]["options"] == "Type" for override in panel["fieldConfig"]["overrides"]), name
        for target in panel["targets"]:
            for labels in re.findall(r"by \(([^)]*)\)", target["expr"]):
                assert "record" not in labels.split(", ") or "record_type" in labels.split(", "), name


def test_slow_records_are_record_types(tmp_path):
    """Classic histograms; of one IOC two types."""
    series = {}
    for kind, seconds, times in (("ai", 3, 60), ("calc", 6, 30)):
        labels = f'{{ioc="vac",record_type="{kind}",{HERE}}}'
        series |= {f"epics_record_process_self_seconds_total{labels}": f"0+{seconds}x20",
                   f"epics_record_process_duration_seconds_sum{labels}": f"0+{seconds}x20",
                   f"epics_record_process_duration_seconds_count{labels}": f"0+{times}x20"}
    check(tmp_path, series,
          (f'sum by (ioc, record_type) ({inner(query("records: Slowest by self time, time shown"))})',
           {'ioc="vac",record_type="ai"': 0.05, 'ioc="vac",record_type="calc"': 0.1}),
          (f'sum by (ioc, record_type) ({inner(query("records: Records that take longest, time shown"))})',
           {'ioc="vac",record_type="ai"': 0.05, 'ioc="vac",record_type="calc"': 0.2}))


def test_the_alert_about_slow_puts_fires_for_an_ioc(tmp_path):
    """Its recorded mean is that of the IOC's puts."""
    labels = f'{{ioc="vac",protocol="ca",pv="(other)",{HERE}}}'
    check(tmp_path, {f"epics_put_duration_seconds_sum{labels}": "0+120x20", f"epics_put_duration_seconds_count{labels}": "0+60x20"},
          (next(rule["expr"] for rule in rules() if rule.get("record") == "ioc_pv:epics_put_duration_seconds:mean5m"),
           {f'ioc="vac",pv="(other)",{HERE}': 2}))
