"""The summary at the end: skipped tests in the form that ctest reads."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from reporting import pytest_sessionfinish, pytest_terminal_summary  # noqa: E402,F401
