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

    return re.sub(r"\$(?:([a-z_]\w*)|\{(\w+)(?::\w+)?\})", value, expression)


def by_name(expression: str) -> str:
    """With each selector of two names written out: {__name__=~"a_(b|c)", ...} selects of both."""
    return re.sub(r'{__name__=~"([^"(]*)\((\w+)\|(\w+)\)([^"]*)", ([^}]*)}', r'\1\2\4{\5} or \1\3\4{\5}', expression)
