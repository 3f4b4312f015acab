"""Fixtures: every IOC, client and exporter that a test starts is ended with it, by pid; those that the tests of
a file share, with the file.

Files run beside each other on one host. An exporter looks at the IOCs of its own test only: those that were
started before it, unless the test says with --ioc.include what else will come. So an IOC's name stands in one
file only.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from harness import clients, env
from harness.exporter import Exporter
from harness.ioc import Ioc
from harness.process import Process
from harness.raw_client import RawClient
from reporting import pytest_sessionfinish, pytest_terminal_summary  # noqa: F401


def base_versions() -> list[str]:
    lines = (env.E2E_DIR / "bases.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


WHOLE = "IOC_EXPORTER_WHOLE" in os.environ  # ./test.sh --whole


def pytest_configure(config):
    config.addinivalue_line("markers", "whole: with --whole only")
    config.addinivalue_line("markers", "every_base: a smoke test, on the oldest and the newest Base; with --whole on every one")
    config.addinivalue_line("markers", "outer_bases: with --whole on the oldest and the newest Base only, since what it looks "
                                       "at is laid out alike in between")


def pytest_collection_modifyitems(config, items):
    left_out = [] if WHOLE else [item for item in items if item.get_closest_marker("whole")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_generate_tests(metafunc):
    if "base" in metafunc.fixturenames:
        versions = base_versions()
        everywhere = metafunc.definition.get_closest_marker("every_base")
        if not WHOLE and not everywhere:
            versions = versions[-1:]
        elif not WHOLE or metafunc.definition.get_closest_marker("outer_bases"):
            versions = [versions[0], versions[-1]]
        metafunc.parametrize("base", versions, scope="module")
    if getattr(metafunc.module, "BOTH_PUT_SOURCES", False) and "start_exporter" in metafunc.fixturenames:
        metafunc.parametrize("put_source", ["server", "packets"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def put_source(request) -> str | None:
    """Where the counts of puts come from, in a file that says BOTH_PUT_SOURCES = True; else None: as it comes."""
    return getattr(request, "param", None)


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

    def ioc_names(self) -> list[str]:
        return [thing.name for thing in self._things if isinstance(thing, Ioc)]

    def describe(self) -> None:
        for thing in reversed(self._things):
            print(getattr(thing, "process", thing).describe(), file=sys.stderr)

    def end_all(self) -> None:
        self.describe()
        problems = []
        for thing in reversed(self._things):
            process = getattr(thing, "process", thing)
            try:
                process.kill()
            except Exception as error:  # the others must end too
                problems.append(f"could not end {process.name}: {error}")
            said = process.stderr() if isinstance(process, Process) else ""  # some are no processes
            if report := re.search(r"(?m)^.*(ERROR: AddressSanitizer|: runtime error:).*", said):
                problems.append(f"{process.name}: {report[0]}")
        assert not problems, "; ".join(problems)


class Shared:
    """IOCs and exporters of all tests of a file: shared.ioc(...) and shared.exporter(...), as start_ioc and start_exporter."""

    def __init__(self, directory: pathlib.Path, always: list[str]):
        self.started = Started()
        self._directory = directory
        self._always = always

    def ioc(self, name: str, database: str, **options) -> Ioc:
        return self.started.add(Ioc(name, database, self._directory, **options)).wait_running()

    def exporter(self, *options: str, sees=()) -> Exporter:
        return run_and_wait(self.started, self._directory, [*self._always, *options], self.started.ioc_names(), sees)


def run_and_wait(started: Started, directory: pathlib.Path, options: list[str], names: list[str], sees,
                 prefix=()) -> Exporter:
    if not any(option.startswith("--ioc.include") for option in options):
        options = [*options, f"--ioc.include={'|'.join(map(re.escape, names)) or 'none'}"]
    exporter = started.add(Exporter(directory, *options, prefix=prefix))
    for ioc in sees:
        exporter.wait_up(ioc)
    return exporter


@pytest.fixture(scope="module")
def shared(request, tmp_path_factory):
    things = Shared(tmp_path_factory.mktemp("shared"), getattr(request.module, "EXPORTER_OPTIONS", []))
    try:
        yield things
    finally:
        things.started.end_all()


@pytest.fixture
def started(log_dir, request):  # its files must outlive what writes to them
    things = Started()
    try:
        yield things
    finally:
        if "shared" in request.fixturenames:
            request.getfixturevalue("shared").started.describe()
        things.end_all()


@pytest.fixture
def start_ioc(started, log_dir):
    """start_ioc(name, database, ...) -> a running Ioc."""
    def start(name: str, database: str, **options) -> Ioc:
        return started.add(Ioc(name, database, log_dir, **options)).wait_running()

    return start


@pytest.fixture
def start_exporter(started, log_dir, request, put_source):
    """start_exporter(option, ..., sees=[ioc]) -> a listening Exporter that has found these IOCs.

    A file whose tests need no records says so with EXPORTER_OPTIONS: to load their probes takes seconds.
    """
    always = getattr(request.module, "EXPORTER_OPTIONS", [])
    if put_source:
        always = [*always, {"server": "--server-probe", "packets": "--no-server-probe"}[put_source]]

    def start(*options: str, sees=(), prefix=()) -> Exporter:
        names = [*started.ioc_names(), *(ioc.name for ioc in sees)]
        exporter = run_and_wait(started, log_dir, [*always, *options], list(dict.fromkeys(names)), sees, prefix)
        for ioc in sees if put_source else ():
            exporter.wait_put_source(ioc, put_source)
        return exporter

    return start


@pytest.fixture
def raw_client(started):
    """raw_client(ioc, user, host) -> a connected RawClient. `port`: its own."""
    def start(ioc: Ioc, user: str = "operator", host: str = "console1", port: int = 0) -> RawClient:
        return started.add(RawClient(ioc.port, user, host, port))

    return start


@pytest.fixture
def connect(started, log_dir):
    """connect(clients.libca, [ioc], pvs, count, ...) -> a client with its channels open."""
    def start(client, iocs, pvs: list[str], count: int, **options):
        ports = [ioc.port for ioc in iocs]
        return started.add(client(log_dir, ports, pvs, count, **options)).wait_connected()

    return start


@pytest.fixture
def connect_p4p(connect):
    """connect_p4p(server, puts, count) -> a client of PV Access that puts to one server; puts: values by PV."""
    def start(server, puts: dict[str, object], count: int, prefix=()):
        return connect(lambda log_dir, _ports, _pvs, n: clients.p4p(log_dir, [server], puts, n, prefix), [server],
                       list(puts), count)

    return start


@pytest.fixture
def as_guest(log_dir) -> list[str]:
    """For a client that has another user's name, which the library takes from the password database."""
    passwd = log_dir / "passwd"
    passwd.write_text(f"{clients.GUEST}:x:{os.getuid()}:{os.getgid()}::/:/bin/sh\n")
    return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', str(passwd)]


@pytest.fixture
def disk_to_freeze(log_dir):
    image, folder = log_dir / "image", log_dir / "frozen"
    folder.mkdir()
    subprocess.run(["truncate", "--size=32M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, folder], check=True)
    yield folder
    subprocess.run(["fsfreeze", "--unfreeze", folder], check=False, capture_output=True)
    subprocess.run(["umount", "--lazy", folder], check=True)
