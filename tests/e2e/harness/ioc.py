"""Real IOCs on loopback, driven through their shell (so that driving them is no CA traffic)."""
import os
import pathlib
import re
import shutil
import subprocess
from typing import Sequence

import pytest

from . import env
from .ports import free_port
from .process import Process
from .waiting import wait_stable, wait_until

_DONE = re.compile(r"^@done\n", re.MULTILINE)


def ca_server_env(port: int, address: str = "127.0.0.1") -> dict[str, str]:
    return {
        "EPICS_CA_SERVER_PORT": str(port),
        "EPICS_CAS_INTF_ADDR_LIST": address,
        "EPICS_CAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_CAS_BEACON_ADDR_LIST": "127.0.0.1",
        "EPICS_CA_ADDR_LIST": "127.0.0.1",
        "EPICS_CA_AUTO_ADDR_LIST": "NO",
    }


def pva_server_env(port: int, search_port: int) -> dict[str, str]:
    return {
        "PVXS_QSRV_ENABLE": "YES",
        "EPICS_PVAS_SERVER_PORT": str(port),
        "EPICS_PVAS_BROADCAST_PORT": str(search_port),
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1",
        "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_PVAS_BEACON_ADDR_LIST": "127.0.0.1",
        "EPICS_PVA_ADDR_LIST": "127.0.0.1",
        "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVA_BROADCAST_PORT": str(search_port),
    }


def claim(name: str) -> None:
    """Fails where a test of another file has started an IOC of that name: files run beside each other, and their exporters
    would see both. tests/structure/test_ioc_names.py finds most without running them."""
    ours = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
    claimed = pathlib.Path(os.environ["IOC_EXPORTER_RESULTS"]) / "ioc-names" / name
    claimed.parent.mkdir(parents=True, exist_ok=True)
    try:
        with claimed.open("x") as file:
            file.write(ours)
    except FileExistsError:
        other = claimed.read_text() or ours  # written at this moment
        assert other == ours, f"{other} has an IOC {name}, too: choose another name (or remove {claimed}, if it has no more)"


class Ioc:
    """One IOC process. `base` says which Base; PYTHON_BASE runs inside Python, others in C.

    `prefix` is a command that runs it elsewhere, under the same pid, or with `child` as its only
    child; `address` the one it serves; `links_to` the ports of the servers that its Channel Access links find.
    """

    def __init__(self, name: str, database: str, log_dir: pathlib.Path, base: str = env.PYTHON_BASE,
                 macros: str = "", port: int | None = None, spin: bool = False,
                 lib_dir: pathlib.Path | None = None, access_security: str | None = None,
                 address: str = "127.0.0.1", prefix: Sequence[str] = (), child: bool = False,
                 qsrv: int | None = None, links_to: Sequence[int] = ()):
        claim(name)
        self.name = name
        self.base = base
        self.port = port or free_port()
        directory = env.base_dir(base)
        db_path = log_dir / f"{name}-{self.port}.db"
        db_path.write_text(database)
        environment = {**ca_server_env(self.port, address), "IOCNAME": name}
        if links_to:
            environment["EPICS_CA_ADDR_LIST"] = " ".join(f"127.0.0.1:{port}" for port in links_to)
        if qsrv is not None:
            self.pva_port, self.pva_search_port = free_port(), free_port()
            environment |= pva_server_env(self.pva_port, self.pva_search_port)
        if base == env.PYTHON_BASE and lib_dir is None:
            argv = [env.python(), env.TOOLS_SOURCE_DIR / "python_ioc.py"]
            argv += ["--spin"] if spin else []
            argv += ["--qsrv", qsrv] if qsrv is not None else []
            if access_security is not None:
                rules = log_dir / f"{name}-{self.port}.acf"
                rules.write_text(access_security)
                argv += ["--access-security", rules]
        else:
            assert access_security is None and qsrv is None, "the IOC in C knows neither rules nor PVA"
            argv = [env.tool(f"ioc_launcher_{base}"), directory / "dbd"]
            if lib_dir is not None:
                environment["LD_LIBRARY_PATH"] = str(lib_dir)
        self.process = self._start([*prefix, *argv, macros, db_path], log_dir, environment)
        self._child = child

    def _start(self, argv: list[object], log_dir: pathlib.Path, environment: dict[str, str]) -> Process:
        return Process(self.name, argv, log_dir, environment)

    @property
    def pid(self) -> int:
        if not self._child:
            return self.process.pid
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return int(children.read())

    def wait_running(self) -> "Ioc":
        """Until iocInit is done and the shell answers with a record's value."""
        self.process.wait_for("^@running$", timeout=60)
        assert self.records(), f"no records: {self.process.describe()}"
        return self

    def shell(self, command: str) -> str:
        """Stdout of the IOC shell for one command."""
        start = self.process.stdout_path.stat().st_size
        self.process.send_line(command)

        def answer() -> re.Match | None:
            with open(self.process.stdout_path, "rb") as out:
                out.seek(start)
                match = _DONE.search(out.read().decode(errors="replace"))
            assert match or self.process.popen.poll() is None, self.process.describe()
            return match

        match = wait_until(answer, f"answer of {self.name} to {command!r}", every=0.002)
        return match.string[:match.start()].strip()

    def get(self, field: str) -> int:
        """The value of a numeric field."""
        text = self.shell(f"dbgf {field}")
        match = re.search(r"^DBF_\w+:\s+(-?[0-9.e+]+)", text, re.MULTILINE)
        assert match, f"dbgf {field} printed {text!r}"
        value = float(match[1])
        assert value.is_integer(), f"dbgf {field} printed {text!r}"
        return int(value)

    def get_all(self, fields: list[str]) -> dict[str, int]:
        return {field: self.get(field) for field in fields}

    def get_settled(self, fields: list[str]) -> dict[str, int]:
        """The values once none of them has changed for half a second."""
        return wait_stable(lambda: self.get_all(fields), f"{fields} of {self.name}")

    def put(self, field: str, value: object) -> None:
        self.shell(f'dbpf {field} "{value}"')

    def process_once(self, record: str, times: int = 1) -> None:
        """dbProcess straight from the shell: sets neither PUTF nor RPRO."""
        for _ in range(times):
            self.shell(f"dbtr {record}")

    def records(self) -> dict[str, str]:
        """Name to record type of what `dbl` lists (aliases too)."""
        lines = self.shell('dbl "" "RTYP"').splitlines()
        pairs = [re.fullmatch(r'(\S+), "(\w+)"', line) for line in lines if line]
        assert all(pairs), f"dbl printed {lines!r}"
        return {pair[1]: pair[2] for pair in pairs}

    def kill(self) -> None:
        self.process.kill()


def copy_of_libraries(base: str, into: pathlib.Path) -> pathlib.Path:
    """The shared libraries of a Base version, copied so that a test may delete them."""
    into.mkdir()
    for library in (env.base_dir(base) / "lib").glob("lib*.so*"):
        if library.name.startswith(("libCom.", "libca.", "libdbCore.", "libdbRecStd.")):
            shutil.copy2(library, into)
    return into


def stripped_libraries(base: str, into: pathlib.Path) -> pathlib.Path:
    """Copies of its libraries as images of containers have them."""
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("no strip in PATH")
    libraries = copy_of_libraries(base, into)
    for library in libraries.iterdir():
        subprocess.run([strip, "--strip-unneeded", library], check=True)
    return libraries
