#!/usr/bin/env python3
"""docs/security.md and docs/faults.md name tests for what they say: each of them is there."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "docs/security.md", ROOT / "docs/faults.md"]
GTEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def gtests() -> set[str]:
    return {f"{suite}.{name}" for path in (ROOT / "tests").rglob("*_test.cpp")
            for suite, name in GTEST.findall(path.read_text())}


def pytests() -> set[str]:
    return {f"{path.name}::{name}" for path in (ROOT / "tests").rglob("test_*.py")
            for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)}


def check(document: pathlib.Path, there: set[str]) -> str:
    """What is wrong with it."""
    text = document.read_text()
    named = re.findall(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+\.py::test_\w+|tests/[\w/.]+)`", text)
    lost = [name for name in named
            if name not in there and not (name.startswith("tests/") and (ROOT / name).is_file())]
    if len(named) < 20:
        return f"{document}: only {len(named)} tests are named\n"
    return "".join(f"{document}: there is no test {name}\n" for name in lost)


all_tests = gtests() | pytests()
if problems := "".join(check(document, all_tests) for document in DOCUMENTS):
    sys.exit(problems)
