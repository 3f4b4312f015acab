#!/usr/bin/env python3
"""docs/security.md names tests for what it says: each of them is there."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/security.md"
GTEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def gtests() -> set[str]:
    return {f"{suite}.{name}" for path in (ROOT / "tests").rglob("*_test.cpp")
            for suite, name in GTEST.findall(path.read_text())}


def pytests() -> set[str]:
    return {f"{path.name}::{name}" for path in (ROOT / "tests").rglob("test_*.py")
            for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)}


named = re.findall(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+\.py::test_\w+|tests/[\w/.]+)`", DOCUMENT.read_text())
there = gtests() | pytests()
lost = [name for name in named if name not in there and not (name.startswith("tests/") and (ROOT / name).is_file())]
if len(named) < 20:
    sys.exit(f"{DOCUMENT}: only {len(named)} tests are named")
if lost:
    sys.exit(f"{DOCUMENT}: there is no test {', '.join(lost)}")
