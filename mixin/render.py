"""Writes the mixin's rules and dashboards with the settings of config.libsonnet.

    python mixin/render.py [DIRECTORY]     (default: the project: alerts/*.yml, dashboards/*.json)

It needs the packages jsonnet and PyYAML. dashboards/source/generate.py comes first where panels changed.
"""
import json
import pathlib
import sys

import _jsonnet
import yaml

HERE = pathlib.Path(__file__).resolve().parent
HEAD = """\
# Made by mixin/render.py from mixin/{name}: change it there, or take the mixin.
"""


class Text(str):
    """A string of several lines, or with quotes in it: as a block."""


def block(dumper: yaml.Dumper, text: Text) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else ">")


yaml.SafeDumper.add_representer(Text, block)


def readable(rule: dict) -> dict:
    """In the order in which one reads it."""
    order = ["record", "alert", "expr", "for", "keep_firing_for", "labels", "annotations"]
    rule = {key: rule[key] for key in order if key in rule}
    if "\n" in rule["expr"]:
        rule["expr"] = Text(rule["expr"])
    notes = rule.get("annotations")
    if notes:
        order = ["summary", "description", "until_morning", "command", "runbook_url"]
        rule["annotations"] = {key: Text(notes[key]) if key == "description" else notes[key] for key in order if key in notes}
    return rule


def rule_file(groups: list[dict]) -> str:
    tidy = [{key: group[key] for key in ("name", "interval") if key in group}
            | {"rules": [readable(rule) for rule in group["rules"]]} for group in groups]
    return yaml.dump({"groups": tidy}, Dumper=yaml.SafeDumper, sort_keys=False, width=118, allow_unicode=True)


def evaluate(more: str = "{}") -> dict:
    """The mixin with `more` put over it, such as { _config+:: { job: 'epics' } }."""
    code = f"""
      local mixin = (import 'mixin.libsonnet') + {more};
      {{
        rules: {{ [topic]: std.get(mixin.topics[topic], 'rules', []) for topic in std.objectFields(mixin.topics) }},
        alerts: mixin.prometheusAlerts.groups,
        dashboards: mixin.grafanaDashboards,
        alertTopics: {{
          [topic]: [group.name for group in std.get(mixin.topics[topic], 'alerts', [])]
          for topic in std.objectFields(mixin.topics)
        }},
      }}"""
    return json.loads(_jsonnet.evaluate_snippet(str(HERE / "render.jsonnet"), code))


def rendered(more: str = "{}") -> dict[str, str]:
    """Text by path, from the project's folder."""
    made = evaluate(more)
    alerts = {group["name"]: group for group in made["alerts"]}
    files = {f"alerts/{topic}.yml": HEAD.format(name=f"alerts/{topic}.libsonnet")
             + rule_file(made["rules"][topic] + [alerts[name] for name in names])
             for topic, names in made["alertTopics"].items()}
    return files | {f"dashboards/{name}": json.dumps(board, indent=2, sort_keys=True) + "\n"
                    for name, board in made["dashboards"].items()}


def main() -> None:
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent)
    for name, text in rendered().items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text)


if __name__ == "__main__":
    main()
