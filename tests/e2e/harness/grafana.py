"""Queries of the dashboards, as Grafana fills them in."""
import json
import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent.parent


class Panel:
    def __init__(self, board: str, model: dict):
        self.name = f"{board}: {model['title']}"
        self.targets = [(target["expr"], bool(target.get("instant"))) for target in model.get("targets", [])]


def dashboards() -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in sorted((PROJECT / "dashboards").glob("*.json"))}


def panels() -> list[Panel]:
    return [Panel(name, model) for name, board in dashboards().items() for model in board["panels"]
            if model["type"] not in ("row", "text")]


def fill(expression: str, **variables: str) -> str:
    """With its variables replaced; one that nobody knows is an error."""
    def value(match: re.Match) -> str:
        return variables[match[1] or match[2]]

    return re.sub(r"\$(?:([a-z_]\w*)|\{(\w+)(?::\w+)?\})", value, expression)


def by_name(expression: str) -> str:
    """With each selector of two names written out: {__name__=~"a_(b|c)", ...} selects of both."""
    return re.sub(r'{__name__=~"([^"(]*)\((\w+)\|(\w+)\)([^"]*)", ([^}]*)}', r'\1\2\4{\5} or \1\3\4{\5}', expression)


# Seconds from point to point that Grafana takes, and from which time between two points on.
INTERVALS = [(0, 1), (1.5, 2), (3.5, 5), (7.5, 10), (12.5, 15), (17.5, 20), (25, 30), (45, 60), (90, 120), (210, 300),
             (450, 600), (750, 900), (1050, 1200), (1500, 1800), (2700, 3600)]


def step_of(panel: dict, span: int, scrape_interval: int = 15) -> int:
    """Seconds from point to point, as Grafana has it for `span` seconds: a point a pixel on a wide screen, if the panel
    does not want fewer. For bench/site.py."""
    points = panel.get("maxDataPoints") or round(panel["gridPos"]["w"] / 24 * 1900)
    return max(scrape_interval, [step for start, step in INTERVALS if span / points >= start][-1])
