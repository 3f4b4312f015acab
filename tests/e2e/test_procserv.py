"""IOCs under procServ: it tells their names where nothing better does, and that it was who restarted them."""
import os
import re
import shutil
import signal
import socket

import pytest

from harness import env
from harness.ioc import ca_server_env
from harness.ports import free_port
from harness.process import Process
from harness.scrape import PROCESSED
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]
INFO, RESTARTS = "epics_ioc_info", "epics_ioc_restarts_total"


class Served:
    """A program under procServ, with its console."""

    def __init__(self, started, log_dir, arguments: list[object], program: list[object], environment: dict[str, str]):
        if not shutil.which("procServ"):
            pytest.skip("needs procServ (package procserv)")
        self.port = free_port()
        environment = {"IOCNAME": "", **environment}
        program = [shutil.which("setpriv"), "--pdeathsig=KILL", *program]  # else it would outlive a procServ that is killed
        self.process = started.add(Process(f"procserv-{self.port}", [
            "procServ", "--foreground", "--quiet", "--holdoff=1", *arguments, self.port, *program], log_dir, environment))
        self._console = None

    @property
    def pid(self) -> int:
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return int(children.read() or 0)

    def ask(self, line: str) -> str:
        """What the program answers, up to its "@done"."""
        if self._console is None:
            def connect():
                try:
                    return socket.create_connection(("127.0.0.1", self.port), timeout=60)
                except ConnectionRefusedError:
                    return None
            self._console = wait_until(connect, "procServ listens")
        self._console.sendall(line.encode() + b"\n")
        text = b""
        while b"@done" not in text:
            text += self._console.recv(65536)
        return text.decode(errors="replace")


def info(scrape, name):
    return [labels["supervisor"] for labels, _ in scrape.series(INFO, ioc=name)]


@pytest.mark.outer_bases
def test_a_restart_is_told_as_one_by_procserv(started, start_exporter, log_dir, base):
    directory = env.base_dir(base)
    name = f"procserv-{base}"
    (log_dir / f"{name}.db").write_text('record(calc,"PS:n"){field(CALC,"VAL+1")}\n')
    ioc = Served(started, log_dir, [f"--name={name}"],
                 [env.tool(f"ioc_launcher_{base}"), directory / "dbd", "", log_dir / f"{name}.db"], ca_server_env(free_port()))
    exporter = start_exporter(f"--ioc.include={name}", "--ioc.name-source=env:IOCNAME,procserv,exe")

    def process_and_check(times: int) -> None:
        for _ in range(times):
            ioc.ask("dbtr PS:n")
        assert re.search(rf"DBF_DOUBLE:\s+{times}\b", ioc.ask("dbgf PS:n.VAL"))
        assert exporter.scrape().count(PROCESSED, ioc=name, record="PS:n") == times

    exporter.wait_scrape(lambda s: s.series("epics_ioc_records", ioc=name), "its record is known")
    assert info(exporter.scrape(), name) == ["procServ"]
    process_and_check(23)
    first = ioc.pid
    os.kill(first, signal.SIGKILL)
    exporter.wait_scrape(lambda s: s.value(RESTARTS, ioc=name) == 1 and s.series("epics_ioc_records", ioc=name),
                         "it runs again")
    assert ioc.pid != first
    process_and_check(11)
    assert info(exporter.scrape(), name) == ["procServ"]
    assert "restarted 1 times, last by procServ" in exporter.request("/")[2].decode()
    assert f"found ioc {name} (pid {ioc.pid})" in exporter.process.stderr()
    assert exporter.process.stderr().count("restarted by procServ") == 1
