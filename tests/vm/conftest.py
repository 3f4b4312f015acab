"""Shares the end-to-end tests' harness, and tells ctest what was skipped as they do."""
import pathlib
import sys

VM_DIR = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(VM_DIR), str(VM_DIR.parent / "e2e")]

from reporting import pytest_sessionfinish, pytest_terminal_summary  # noqa: E402,F401


def pytest_generate_tests(metafunc):
    if "series" in metafunc.fixturenames:
        lines = (VM_DIR / "kernels.txt").read_text().splitlines()
        metafunc.parametrize("series", [ln.split()[0] for ln in lines if ln and not ln.startswith("#")])
