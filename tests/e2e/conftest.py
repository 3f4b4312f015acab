"""Fixtures: every IOC, client and exporter that a test starts is ended with it, by pid."""
import pathlib
import re
import sys

import pytest

from harness import env
from harness.exporter import Exporter
from harness.ioc import Ioc
from harness.process import Process
from harness.raw_client import RawClient
from reporting import pytest_sessionfinish, pytest_terminal_summary  # noqa: F401


def base_versions() -> list[str]:
    lines = (env.E2E_DIR / "bases.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def pytest_generate_tests(metafunc):
    if "base" in metafunc.fixturenames:
        metafunc.parametrize("base", base_versions())


@pytest.fixture
def log_dir(tmp_path) -> pathlib.Path:
    return tmp_path


class Started:
    """Things with a `kill`, ended in reverse order; their output is shown when the test fails."""

    def __init__(self):
        self._things = []

    def add(self, thing):
        self._things.append(thing)
        return thing

    def end_all(self) -> None:
        problems = []
        for thing in reversed(self._things):
            process = getattr(thing, "process", thing)
            print(process.describe(), file=sys.stderr)
            try:
                process.kill()
            except Exception as error:  # the others must end too
                problems.append(f"could not end {process.name}: {error}")
            said = process.stderr() if isinstance(process, Process) else ""  # some are no processes
            if report := re.search(r"(?m)^.*(ERROR: AddressSanitizer|: runtime error:).*", said):
                problems.append(f"{process.name}: {report[0]}")
        assert not problems, "; ".join(problems)


@pytest.fixture
def started(log_dir):  # its files must outlive what writes to them
    things = Started()
    try:
        yield things
    finally:
        things.end_all()


@pytest.fixture
def start_ioc(started, log_dir):
    """start_ioc(name, database, ...) -> a running Ioc."""
    def start(name: str, database: str, **options) -> Ioc:
        return started.add(Ioc(name, database, log_dir, **options)).wait_running()

    return start


@pytest.fixture
def start_exporter(started, log_dir, request):
    """start_exporter(option, ..., sees=[ioc]) -> a listening Exporter that has found these IOCs.

    A file whose tests need no records says so with EXPORTER_OPTIONS: to load their probes takes seconds.
    """
    always = getattr(request.module, "EXPORTER_OPTIONS", [])

    def start(*options: str, sees=()) -> Exporter:
        exporter = started.add(Exporter(log_dir, *always, *options))
        for ioc in sees:
            exporter.wait_up(ioc)
        return exporter

    return start


@pytest.fixture
def raw_client(started):
    """raw_client(ioc, user, host) -> a connected RawClient."""
    def start(ioc: Ioc, user: str = "operator", host: str = "console1") -> RawClient:
        return started.add(RawClient(ioc.port, user, host))

    return start


@pytest.fixture
def connect(started, log_dir):
    """connect(clients.libca, [ioc], pvs, count, ...) -> a client with its channels open."""
    def start(client, iocs, pvs: list[str], count: int, **options):
        ports = [ioc.port for ioc in iocs]
        return started.add(client(log_dir, ports, pvs, count, **options)).wait_connected()

    return start
