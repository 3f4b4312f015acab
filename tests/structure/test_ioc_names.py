#!/usr/bin/env python3
"""Files of end-to-end tests run beside each other on one host, where an exporter looks at the IOCs with the names of
its own test's: an IOC's name stands in one file only. Names that are put together at run time: tests/e2e/harness/ioc.py (claim)."""
import ast
import collections
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
STARTS = {"Ioc", "start_ioc", "ioc"}  # Ioc("name", ...), start_ioc("name", ...), shared.ioc("name", ...)


def names(path: pathlib.Path) -> set[str]:
    found = set()
    for call in ast.walk(ast.parse(path.read_text())):
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
            continue
        function = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if function in STARTS and isinstance(call.args[0].value, str):
            found.add(call.args[0].value)
    return found


if __name__ == "__main__":
    files = collections.defaultdict(list)
    for path in sorted(TESTS.glob("*/test_*.py")):
        for name in names(path):
            files[name].append(str(path.relative_to(TESTS)))
    wrong = [f"IOC {name} is in {' and '.join(where)}" for name, where in sorted(files.items()) if len(where) > 1]
    print("\n".join(wrong) if wrong else f"{len(files)} names of IOCs, each in one file")
    sys.exit(1 if wrong else 0)
