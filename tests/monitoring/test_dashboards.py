"""The dashboards as files: made from their source, importable, and by the rules that dashboards/README.md states."""
import json
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

from project import DASHBOARDS, ROOT, documented_metrics, unknown_names

sys.path.append(str(ROOT / "tests/e2e"))
from harness.grafana import by_name  # noqa: E402


def boards() -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(DASHBOARDS.glob("*.json"))}


def panels():
    for name, board in boards().items():
        for panel in board["panels"]:
            if panel["type"] != "row":
                yield f"{name}: {panel['title']}", panel


def queries():
    """With each name of a metric written out, and what is typed as =~."""
    for name, panel in panels():
        for target in panel["targets"]:
            yield name, re.sub(r"\$\{(\w+):raw\}", r'=~"$\1"', by_name(target["expr"])), bool(target.get("instant"))


def test_files_are_written_by_the_program(tmp_path):
    subprocess.run([sys.executable, DASHBOARDS / "source/generate.py", tmp_path], check=True)
    made = {path.name: path.read_text() for path in tmp_path.glob("*.json")}
    assert made == {path.name: path.read_text() for path in DASHBOARDS.glob("*.json")}
    assert set(made) == {"overview.json", "puts.json", "records.json", "iocs.json", "drivers.json", "exporter.json"}


def test_dashboards_can_be_imported():
    found = boards()
    assert len({board["uid"] for board in found.values()}) == len(found)
    for name, board in found.items():
        assert 0 < len(board["uid"]) <= 40 and board["title"] and "id" not in board
        ids = [panel["id"] for panel in board["panels"]]
        assert len(set(ids)) == len(ids), name
        variables = {variable["name"]: variable for variable in board["templating"]["list"]}
        assert {"datasource", "job", "instance"} <= set(variables) and ("exporter" in variables) == (name != "overview"), name
        assert ("ioc" in variables) == (name not in ("exporter", "overview"))


def test_panels_do_not_overlap():
    for name, board in boards().items():
        taken = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24 and not cells & taken, f"{name}: {panel.get('title')}"
            taken |= cells


def test_panels_have_descriptions():
    for name, panel in panels():
        assert panel["description"].endswith("."), name
        assert panel["fieldConfig"]["defaults"]["unit"], name
        assert panel["datasource"]["uid"] == "${datasource}", name
        assert panel["targets"] and len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]), name


def test_queries_match_the_choice():
    selector = re.compile(r"(?<![\w:\"])((?:epics|ioc_exporter|process|scrape)_\w+|up|ALERTS\w*|[a-z_]+:[a-z0-9_]+:[a-z0-9_]+)"
                          r"\b(?![:\"(=])(\{[^}]*\})?")
    for name, query, _ in queries():
        bare = re.sub(r"\b(?:by|on) \([^)]*\)", "", query)
        found = selector.findall(bare)
        assert found, f"{name}: {query}"
        for metric, matchers in found:
            of_all = 'chosen=~"($ioc)' in matchers
            if metric.startswith("job"):
                assert 'job=~"$job", job=~"$instance"' in matchers and (of_all or name.startswith("exporter")), f"{name}: {metric}"
                continue
            for variable in ("job", "instance") + (("ioc",) if has_ioc(name, metric) and not of_all else ()):
                if metric == "ioc_exporter_build_info" and variable == "instance":
                    continue  # which job is one of exporters, those that do not answer among them
                value = f"${variable}" + ("|" if (name, variable) == ("puts: Alerts that fire", "instance") else "")
                assert f'{variable}=~"{value}"' in matchers, f"{name}: {metric}{matchers}"
            if metric.startswith("instance") and not name.startswith(("exporter", "overview")):
                assert of_all, f"{name}: {metric} is of all IOCs, whichever are chosen"


def has_ioc(panel: str, metric: str) -> bool:
    """Whether the series of this metric belong to an IOC, on a dashboard where one can be chosen."""
    of_the_host = {"ioc_exporter_policy_puts_total", "ioc_exporter_build_info", "process_start_time_seconds", "up", "ALERTS", "ALERTS_FOR_STATE"}
    return not panel.startswith(("exporter", "overview")) and metric not in of_the_host and not metric.startswith("instance")


def test_sums_by_host_are_shown_with_all_iocs_only():
    """And with all of them nothing else is asked for: see board.py."""
    halves = [(name, query) for name, query, _ in queries() if "chosen" in query and name != "iocs: Hosts not seen"]
    assert len(halves) > 10
    for name, query in halves:
        assert set(re.findall(r'chosen=~"([^"]*)"', query)) == set(re.findall(r'chosen!~"([^"]*)"', query)), name
        assert query.count('job=~"$instance"') == query.count('job!~"$instance"'), f"{name}: all hosts, and some of them"
        for typed in ("pv", "user", "client"):
            assert f'{typed}=~"${typed}s"' not in query or f"(${typed})" in query, f"{name}: typed in one half alone"
    for board in boards().values():
        for variable in board["templating"]["list"]:
            if variable["name"] == "ioc":
                assert re.fullmatch(variable["allValue"], ""), "All must match the label that no series has"


def test_the_six_busiest_are_six():
    """Of a query that is one or the other both: "*" binds tighter than "or". At the end each is asked once, whatever
    the time shown; their ranks are their colours."""
    ranked = [(name, query) for name, query, _ in queries() if "at_end" in query]
    assert len(ranked) >= 4
    for name, panel in panels():
        colors = [override for override in panel["fieldConfig"].get("overrides", []) if override["matcher"]["options"] == "/^6[.] /"]
        assert bool(colors) == (name in dict(ranked)), name
    for name, query in ranked:
        query = re.sub(r'^(?:label_replace\()+label_join\((.*\)), "who", "\\t", .*', r"\1", query)
        before, _, behind = query.partition(" * ignoring (at_end) group_left (at_end) ")
        assert " or " not in before or (before.startswith("(") and before.count("(") == before.count(")")
                                        and before.endswith("))")), f"{name}: {query}"
        parts = re.findall(r'label_replace\(topk\((\d), (.*?)\), "within", "(\d)", "", ""\)', behind)
        assert [rank for rank, _, _ in parts] == [within for _, _, within in parts] == list("123456"), f"{name}: {query}"
        assert {at_end.replace(" @ end()", "") for _, at_end, _ in parts} == {before}, f"{name}: {query}"
        assert behind.count(" @ end()") == 6 * len(re.findall(r"\w\{", before)), f"{name}: {query}"


def test_lines_have_colours_of_their_own():
    """Where they are named, all are that there can be: another one would look like one of them."""
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.[ch]*"))
    def listed(file: str, prefix: str) -> set[str]:
        return set(re.findall(rf'ROW\({prefix}\w+, "(\w+)"\)', (ROOT / "bpf/shared" / file).read_text()))

    names = {"records: Records processed, by cause": listed("record_process.h", "IOCX_CAUSE_"),
             "records: Writes to records, by source": listed("record_puts.h", "IOCX_PUT_"),
             "drivers: Exchanges, by result": set(re.search(r"enum\[(success, .*?)\]", (ROOT / "functions/stream.yaml").read_text())[1].split(", ")),
             "exporter: Duration of collectors": {"discovery"} | set(re.findall(r'name\(\) const override { return "(\w+)"', sources))}
    assert all(len(there) > 4 for there in names.values())
    for name, panel in panels():
        if panel["type"] != "timeseries":
            continue
        assert panel["fieldConfig"]["defaults"]["color"]["mode"] == "palette-classic", name
        colors = {override["matcher"]["options"]: prop["value"]["fixedColor"] for override in panel["fieldConfig"]["overrides"]
                  for prop in override["properties"] if prop["id"] == "color"}
        assert len(set(colors.values())) == len(colors), f"{name}: two of one colour"
        assert name not in names or set(colors) == names.pop(name), name
    assert not names


def test_queries_use_metrics_that_exist():
    assert documented_metrics()
    assert not {(name, metric) for name, query, _ in queries() for metric in unknown_names(query)}


def test_counters_stand_in_rates_only():
    """And a rate over time takes the interval that Grafana gives it; one of now, what it says."""
    for name, query, instant in queries():
        for rate, window in re.findall(r"\b(rate|increase|histogram_\w+)\((?:rate\()?[a-z_]+\{[^}]*\}\[([^\]]*)\]", query):
            allowed = ("5m", "$__range") if instant or rate == "increase" else ("$__rate_interval",)
            assert window in allowed, f"{name}: {query}"
        outside = re.sub(r"\b(?:rate|increase)\([a-z_]+\{[^}]*\}\[[^\]]*\]", "", query)
        counters = set(re.findall(r"\b[a-z_]+_total\b", outside)) - {
            "epics_put_failures_total", "epics_unexpected_puts_total", "ioc_exporter_ioc_overhead_seconds_total", "epics_record_unwound_total"}
        assert not counters, f"{name}: {query}"


def is_instant(panel: dict) -> bool:
    return all(target.get("instant") for target in panel["targets"])


def asks(pattern: str, every: bool = True):
    """Whether each query of a panel, or any, has this in it."""
    return lambda panel: (all if every else any)(re.search(pattern, target["expr"]) for target in panel["targets"])


def defaults(panel: dict) -> dict:
    return panel["fieldConfig"]["defaults"]


# What holds for which panels. Most are places where a real Grafana shows something else than the JSON says.
RULES = {
    "lines have no more points than one sees": (lambda panel: not is_instant(panel), lambda panel: panel["maxDataPoints"] <= 300),
    "rows are bounded": (lambda panel: panel["type"] in ("table", "state-timeline"), asks(r"\b(top|bottom)k\(\d+,")),
    "tables are sorted": (
        lambda panel: panel["type"] == "table",
        lambda panel: panel.get("options", {}).get("sortBy") or "sortBy" in {step["id"] for step in panel.get("transformations", [])}),
    # With thresholds the mapping is ignored: all is one colour, and has no name.
    "states have the colours of their mapping": (
        lambda panel: panel["type"] == "state-timeline",
        lambda panel: defaults(panel)["color"]["mode"] == "fixed" and defaults(panel)["mappings"]),
    "heat maps know their edges": (
        lambda panel: panel["type"] == "heatmap",
        lambda panel: {target["legendFormat"] for target in panel["targets"]} == {"{{le}}"}),
    "heat maps read recorded series, not the buckets of all records": (
        lambda panel: panel["type"] == "heatmap", lambda panel: not asks(r"rate\(\w+_bucket\b", every=False)(panel)),
    "stacks have no outline": (
        lambda panel: panel["type"] == "timeseries" and defaults(panel)["custom"]["stacking"]["mode"] != "none",
        lambda panel: defaults(panel)["custom"]["lineWidth"] == 0),
    # Of a stat without a line behind it, Grafana takes the last value of a whole range.
    "a number is asked for once": (
        lambda panel: panel["type"] == "stat", lambda panel: panel["options"]["graphMode"] == "area" or is_instant(panel)),
}


@pytest.mark.parametrize("rule", RULES)
def test_panels_keep_the_rules(rule):
    concerns, holds = RULES[rule]
    found = [(name, panel) for name, panel in panels() if concerns(panel)]
    assert found and not [name for name, panel in found if not holds(panel)]


def strings(part, key=""):
    """Each string in a piece of JSON, with the key that it stands under."""
    if isinstance(part, str):
        yield key, part
    for name, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        yield from strings(value, name if isinstance(name, str) else key)


def test_single_values_are_escaped_in_queries_and_links():
    plain = {variable["name"] for board in boards().values() for variable in board["templating"]["list"]
             if variable["type"] == "query" and not variable["multi"]}  # those of which several can be chosen are escaped
    assert plain == {"exporter", "pvs", "users", "clients", "records"}, "expressions, and an exporter's URL"
    for name, panel in panels():
        for target in panel["targets"]:
            for label, variable, form in re.findall(r"(\w*)\$\{(\w+):(\w+)\}", target["expr"]):  # others are within quotes
                assert (variable, form) == (f"{label}s", "raw"), f"{name}: {target['expr']}"
        for key, url in strings(panel):
            if key != "url":
                continue
            for variable in re.findall(r"\$\{(__value[^}]*|__data[^}]*)\}", url):
                # Phoebus does not decode the names of PVs; what stands before keeps the scheme and the application.
                begins = variable == "__data.fields.url" and url.startswith("${__data.fields.url}/")
                assert begins or variable.endswith(":percentencode") or re.fullmatch(
                    r"pv://\?app=\$\{phoebus\}&\$\{__data\.fields\.(pv|record):raw\}", url), f"{name}: {url}"
            if url.startswith("/d/"):
                for wanted in (r"\$\{datasource:queryparam\}", r"\$\{job:queryparam\}", r"var-instance=|\$\{instance:queryparam\}"):
                    assert re.search(wanted, url), f"{name}: {url} keeps not what was chosen"


def test_values_of_the_whole_time_are_asked_once():
    """As a range it is evaluated at each step of it."""
    for name, query, instant in queries():
        assert instant or "$__range" not in query.replace("$__range_", ""), f"{name}: {query}"


def test_the_critical_alerts_are_among_those_that_are_shown():
    """Each alert is 1: topk() over them takes any."""
    for name, query, _ in queries():
        if "topk" in query and "ALERTS{" in query and name != "overview: Which critical alerts":
            assert re.search(r'3 \* ALERTS\{[^}]*severity="critical"', query), f"{name}: {query}"


def test_no_query_is_many():
    for name, panel in panels():
        assert len(panel["targets"]) <= 7, name
        for target in panel["targets"]:
            over_time = re.sub(r"\w\{[^{}]*(?:\$\{[^}]*\}[^{}]*)*\}(\[[^]]*\])? @ end\(\)", "", target["expr"])
            assert len(re.findall(r"\w\{", over_time)) <= 8, f"{name}: {target['expr']}"


def test_the_put_log_is_asked_for_by_its_keys():
    """By a row that is closed, so that a Grafana without a Loki asks for nothing."""
    (row,) = [panel for panel in boards()["puts"]["panels"] if panel["type"] == "row" and panel.get("panels")]
    (panel,) = row["panels"]
    (target,) = panel["targets"]
    assert row["collapsed"] and panel["type"] == "logs"
    assert panel["datasource"] == {"type": "loki", "uid": "${logs}"}
    stream, *filters = target["expr"].split(" | ")
    pushed = (ROOT / "src/putlog/loki_sink.cpp").read_text()
    for label in re.findall(r'(\w+)=', stream):
        assert f'\\"{label}\\":' in pushed, f"{label} is no label of a stream"
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs/putlog.md").read_text(), re.M)
    keys = set(re.findall(r"`(\w+)`", " ".join(rows)))
    used = set(re.findall(r"\{\{\.(\w+)\}\}", filters[-1])) | set(re.findall(r"(\w+)\$\{\1s:raw\}", " ".join(filters)))
    assert {"pv", "user", "client"} <= used <= keys


def test_they_are_laid_out_for_grafana(tmp_path):
    """In a folder with an awkward name, as run.sh does with --grafana-dashboards."""
    folder = tmp_path / 'a & "b" | c'
    for _ in range(2):
        subprocess.run([ROOT / "scripts/lay-out-grafana.sh", folder, "http://localhost:9191"], check=True,
                       capture_output=True)
    provisioning = folder / "provisioning"
    (provider,) = yaml.safe_load((provisioning / "dashboards/ioc_exporter.yml").read_text())["providers"]
    there = pathlib.Path(provider["options"]["path"])
    assert {path.name: path.read_text() for path in there.iterdir()} == {
        path.name: path.read_text() for path in DASHBOARDS.glob("*.json")}
    (source,) = yaml.safe_load((provisioning / "datasources/ioc_exporter.yml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "http://localhost:9191")
