"""The files that these tests are about, read."""
import functools
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALERTS = ROOT / "alerts"
DASHBOARDS = ROOT / "dashboards"
RUNBOOKS = ROOT / "docs" / "runbooks"

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_RECORDED = re.compile(r"\b[a-z_]+:[a-z0-9_]+:[a-z0-9_]+\b")
# Not the beginnings of names, as in epics_record_process_*.
_METRIC = re.compile(r"(?<![a-z0-9_:])(?:epics|ioc_exporter|process)_[a-z0-9_]*[a-z0-9](?![a-z0-9_:])")


def rule_files() -> list[pathlib.Path]:
    return [*sorted(ALERTS.glob("*.yml")), ALERTS / "examples/records.yml"]


@functools.cache
def rules() -> list[dict]:
    return [rule for path in rule_files() for group in yaml.safe_load(path.read_text())["groups"]
            for rule in group["rules"]]


@functools.cache
def alerts() -> dict[str, dict]:
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


@functools.cache
def recorded_names() -> set[str]:
    return {rule["record"] for rule in rules() if "record" in rule}


@functools.cache
def documented_metrics() -> set[str]:
    """The names of all series in docs/metrics.md; a histogram has its four."""
    names = set()
    for name, kind in re.findall(r"^\| `(\w+)[^`]*` \| (\w+) \|", (ROOT / "docs/metrics.md").read_text(), re.M):
        suffixes = ("", "_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names |= {name + suffix for suffix in suffixes}
    return names


def unknown_names(expression: str) -> set[str]:
    """Metrics and recorded series in a PromQL expression that do not exist."""
    bare = _STRING.sub('""', expression)
    found = set(_RECORDED.findall(bare)) - recorded_names()
    return found | (set(_METRIC.findall(bare)) - documented_metrics())


def run_tool(*command: object) -> str:
    """Stdout of a tool of Prometheus, which must succeed."""
    binary = shutil.which(str(command[0]))
    if not binary:
        pytest.skip(f"{command[0]} is not installed (packages prometheus, prometheus-alertmanager)")
    done = subprocess.run([binary, *map(str, command[1:])], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}"
    return done.stdout


def rules_test(folder: pathlib.Path, series: dict[str, str], rules: dict | None = None, interval: str = "1m", **checks) -> None:
    """promtool's test: values by series, and what is to be found, as promtool has it."""
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    (folder / "rules.yml").write_text(yaml.safe_dump(rules or {"groups": []}))
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": interval,
                                                     "tests": [{"interval": interval, "input_series": inputs, **checks}]}))
    run_tool("promtool", "test", "rules", folder / "test.yml")
