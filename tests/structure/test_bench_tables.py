#!/usr/bin/env python3
"""The tables of docs/cost.md and README.md that bench/ioc.py writes have the shape that it writes them in: each load, each
way, each column. Their numbers are those of the last run."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import ioc  # noqa: E402
import ioc_tables  # noqa: E402


def shape(lines: list[str]) -> list[str]:
    """The lines of a table without its numbers; a dash stands for one that is not measured yet."""
    return [re.sub(r"-?[\d,]+\.?\d*|–", "0", cell) for line in lines if line.startswith("|")
            for cell in line.split("|")[1:-1]]


def made_up(way: str) -> dict[str, float]:
    return {column: 1.0 if way == "nothing" else 2.0 for column in ioc.COLUMNS}


def problems() -> list[str]:
    measured = [(name, {way: [made_up(way)] for way in ioc_tables.documented(name)}) for name in ioc.LOADS]
    wanted = [("docs/cost.md", name, ioc_tables.table(results, ioc_tables.DOCUMENTED, shown=ioc_tables.SHOWN)) for name, results in measured]
    wanted.append(("README.md", ioc_tables.ALL_LOADS, ioc_tables.short_table(measured)))
    found = []
    for path, name, lines in wanted:
        text = (ROOT / path).read_text()
        there = re.search(f"{re.escape(ioc_tables.begin(name))}\n(.*?){re.escape(ioc_tables.END)}\n", text, re.DOTALL)
        if there is None:
            found.append(f"{path}: the markers of the table of {name!r} are not there")
        elif shape(there[1].splitlines()) != shape(lines):
            found.append(f"{path}: the table of {name!r} is not as bench/ioc.py --write-docs writes it")
        elif ioc_tables.between(text, name, lines) == text:
            found.append(f"{path}: the table of {name!r} has the numbers of no run")
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) if wrong else "the tables are as bench/ioc.py writes them")
    sys.exit(1 if wrong else 0)
