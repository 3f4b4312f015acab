"""The rules of grafana/dashboard-linter, which is a Go program that CI has not; exceptions stand in dashboards/.lint. The rule
target-rate-interval (queries over time use the interval that Grafana gives) is in test_dashboards.py."""
import re

from test_dashboards import boards, panels, queries

# Grafana's own units; "suffix: puts/s" is one of ours.
UNITS = {"none", "short", "locale", "percentunit", "s", "bytes", "dateTimeAsIsoNoDateIfToday", "dateTimeFromNow"}
OWN_UNITS = re.compile(r"suffix: [a-z]+/s")


def variables(board: dict) -> dict[str, dict]:
    return {variable["name"]: variable for variable in board["templating"]["list"]}


def test_variables_are_called_as_everywhere():
    """template-datasource, template-job, template-instance, template-on-time-change-reload"""
    for name, board in boards().items():
        found = variables(board)
        assert (found["datasource"]["type"], found["datasource"]["label"]) == ("datasource", "Data source"), name
        for variable, label in (("job", "Job"), ("instance", "Instance")):
            chosen = found[variable]
            assert chosen["label"] == label and chosen["multi"] and chosen["allValue"] == ".+", name
            assert chosen["datasource"]["uid"] == "${datasource}", name
        for variable in board["templating"]["list"]:
            assert variable["type"] != "query" or variable["refresh"] == 2, f"{name}: {variable['name']}"
            assert variable["type"] != "query" or variable.get("hide") or variable["includeAll"] and variable["allValue"] == (
                ".*" if variable["name"] == "ioc" else ".+"), f"{name}: {variable['name']} has no All, which a link may say"


def test_variables_follow_earlier_choices():
    """template-label-promql, and template-unused: each variable stands in a query, a link or another variable."""
    for name, board in boards().items():
        text = str([board["panels"], board.get("annotations"), [v.get("query") for v in board["templating"]["list"]]])
        for variable in board["templating"]["list"]:
            if variable["name"] == "exporter" and name in ("exporter", "records"):
                continue  # of the runbooks, to which no panel links there
            assert re.search(rf"\$(?:{variable['name']}\b|{{{variable['name']}\b)", text), f"{name}: {variable['name']}"


def test_panels_have_a_unit_that_there_is():
    """panel-units, with units of our own"""
    for name, panel in panels():
        units = [panel["fieldConfig"]["defaults"]["unit"]]
        units += [prop["value"] for override in panel["fieldConfig"].get("overrides", []) for prop in override["properties"]
                  if prop["id"] == "unit"]
        for unit in units:
            assert unit in UNITS or OWN_UNITS.fullmatch(unit), f"{name}: {unit}"


def test_rates_name_their_unit():
    """ops and wps are read as what happens in Grafana, not here; and a rate is no bare number."""
    for name, panel in panels():
        unit = panel["fieldConfig"]["defaults"]["unit"]
        assert unit not in ("ops", "wps", "reqps", "cps"), name
        for target in panel["targets"]:
            if panel["type"] in ("timeseries", "stat") and re.search(r"\brate\(|:rate5m\b", target["expr"]) \
                    and not re.match(r"\(?count", target["expr"]):
                assert unit not in ("short", "locale"), f"{name}: {target['expr']}"


def test_dashboards_are_not_edited_in_place():
    """uneditable-dashboard: an edited one is lost with the next version"""
    for name, board in boards().items():
        assert board["editable"] is False, name


def test_panels_explain_missing_data():
    """A panel that needs an option says which; no other one has a text in place of data."""
    said = {name: panel["fieldConfig"]["defaults"].get("noValue") for name, panel in panels()}
    assert "--records.causes" in said["records: Causes of single records, 5 min"]
    assert "policy" in said["puts: Puts as the policy judges them (all IOCs)"]


def test_single_records_and_puts_are_those_that_were_asked_for():
    """And sums are in no list: (other) is no PV and no record."""
    for board, labels in (("puts", ("pv", "user", "client")), ("records", ("record",))):
        found = variables(boards()[board])
        for label in labels:
            assert found[label]["type"] == "textbox" and found[label]["query"] == "", label
        for name, query, _ in queries():
            if name.startswith(f"{board}:") and "topk" in query and "ALERTS" not in query:
                if re.search(rf"by \([^)]*\b{labels[0]}\b", query):
                    assert f'{labels[0]}!="(other)"' in query, f"{name}: {query}"
                of = re.search(r"by \(([^)]*)\)", query)
                for label in labels:
                    if of and re.search(rf"\b{label}\b", of[1]):
                        assert f'{label}=~"${label}s"' in query, f"{name}: {query}"


def test_events_are_marked():
    for name, board in boards().items():
        marks = {mark["name"]: mark for mark in board.get("annotations", {}).get("list", []) if "expr" in mark}
        if name == "overview":
            assert not marks and all(panel["type"] == "stat" for panel in board["panels"])
            continue
        wanted = {"Reloads", "Alerts"} | ({"IOC restarts"} if name != "exporter" else set())
        assert set(marks) == wanted, name
        for mark in marks.values():
            assert mark["expr"].startswith("topk(50, ") and 'job=~"$job"' in mark["expr"], name


def test_tables_fit_at_1366_pixels():
    """A column is as wide as its title, and all of them as the panel within its borders; one without a width takes what is
    left, and names of PVs and records are long."""
    for name, panel in panels():
        if panel["type"] != "table":
            continue
        left = panel["gridPos"]["w"] * (1366 - 80) / 24 - 34
        for override in panel["fieldConfig"]["overrides"]:
            title = override["matcher"]["options"]
            if {"id": "custom.hidden", "value": True} in override["properties"]:
                continue
            width = next((prop["value"] for prop in override["properties"] if prop["id"] == "custom.width"), None)
            assert width is None or width >= 7 * len(title) + 16, f"{name}: {title}"
            left -= width or (170 if title in ("PV", "Record", "processes") else 95)
        assert left >= 0, f"{name}: {-left:.0f} pixels too many"
