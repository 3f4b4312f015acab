"""What a dashboard asks Prometheus, as Grafana fills it in."""
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

    return re.sub(r"\$(?:(\w+)|\{(\w+)(?::\w+)?\})", value, expression)
