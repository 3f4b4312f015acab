"""Channel Access clients that send an exact number of puts and say who they are."""
import os
import pathlib
import pwd
import shutil
import socket
from typing import Sequence

import pytest

from . import env
from .process import Process

LOOPBACK = "127.0.0.1"
HOST = socket.gethostname()
# libca takes the user from the password database, caproto from LOGNAME.
LIBCA_USER = pwd.getpwuid(os.getuid()).pw_name
GUEST = "guest"  # of the fixture as_guest


def _client_env(ports: list[int], user: str | None = None,
                address: str = LOOPBACK) -> dict[str, str]:
    environment = {"EPICS_CA_ADDR_LIST": " ".join(f"{address}:{port}" for port in ports),
                   "EPICS_CA_AUTO_ADDR_LIST": "NO", "EPICS_CA_MAX_ARRAY_BYTES": "1000000"}
    return environment | ({"LOGNAME": user, "USER": user} if user else {})


class Client(Process):
    """A client with its channels open. `send` sends all its puts, `close` ends it."""

    def wait_connected(self):
        self.wait_for("^@connected$", timeout=60)
        return self

    def send(self) -> int:
        """Sends; returns how many puts it sent once the IOC has carried out all of them."""
        self.start_sending()
        return self.wait_sent()

    def start_sending(self) -> None:
        self.send_line("go")

    def wait_sent(self) -> int:
        return int(self.wait_for(r"^@sent (\d+)$", timeout=60)[1])

    def close_unsent(self) -> None:
        """Ends it with its channels connected and nothing sent."""
        self.popen.stdin.close()
        self.wait_exit()

    def close(self) -> None:
        self.popen.stdin.close()
        assert self.wait_exit() == 0, self.describe()


def libca(log_dir: pathlib.Path, ports: list[int], pvs: list[str], count: int, op: str = "write",
          kind: str = "double", length: int = 1, batch: int = 1, address: str = LOOPBACK,
          prefix: Sequence[str] = ()) -> Client:
    """tests/tools/ca_flood.c: as fast as libca can. `prefix`: a command that runs it elsewhere."""
    c_op = {"write": "put", "write_notify": "notify"}[op]
    argv = [*prefix, env.tool("ca_flood"), count, c_op, kind, length, batch, *pvs]
    return Client("ca_flood", argv, log_dir, _client_env(ports, address=address))


def pyepics(log_dir: pathlib.Path, ports: list[int], pvs: list[str], count: int,
            op: str = "write") -> Client:
    return Client("pyepics", [env.python(), env.TOOLS_SOURCE_DIR / "put_pyepics.py", count, op, *pvs],
                  log_dir, _client_env(ports))


def caproto(log_dir: pathlib.Path, ports: list[int], pvs: list[str], count: int, op: str = "write",
            user: str = "operator") -> Client:
    return Client("caproto", [env.python(), env.TOOLS_SOURCE_DIR / "put_caproto.py", count, op, *pvs],
                  log_dir, _client_env(ports, user))


def caproto_asyncio(log_dir: pathlib.Path, ports: list[int], pvs: list[str], count: int,
                    op: str = "write", user: str = "operator") -> Client:
    return Client("caproto_asyncio",
                  [env.python(), env.TOOLS_SOURCE_DIR / "put_caproto_asyncio.py", count, op, *pvs],
                  log_dir, _client_env(ports, user))


def caj(log_dir: pathlib.Path, ports: list[int], pvs: list[str], count: int, op: str = "write") -> Client:
    """tests/tools/PutCaj.java; it tells the server the user that the JVM runs as."""
    jar = env.test_env() / "java" / "jca.jar"
    java = shutil.which("java")
    if java is None or not jar.exists():
        pytest.skip("there is no JDK with Maven: scripts/make-java.sh could not fetch the Java client")
    return Client("caj", [java, "-cp", jar, env.TOOLS_SOURCE_DIR / "PutCaj.java", count, op, *pvs],
                  log_dir, _client_env(ports))


def pva_client_env(ioc) -> dict[str, str]:
    """For a client that finds this IOC alone."""
    return {"EPICS_PVA_ADDR_LIST": LOOPBACK, "EPICS_PVA_AUTO_ADDR_LIST": "NO",
            "EPICS_PVA_BROADCAST_PORT": str(ioc.pva_search_port)}


def p4p(log_dir: pathlib.Path, iocs: Sequence, puts: dict[str, object], count: int,
        prefix: Sequence[str] = ()) -> Client:
    """tests/tools/put_p4p.py: PV Access, each value COUNT times. "PV=notify" waits for processing."""
    ioc, = iocs
    argv = [str(word) for pair in puts.items() for word in pair]
    return Client("p4p", [*prefix, env.python(), env.TOOLS_SOURCE_DIR / "put_p4p.py", count, *argv],
                  log_dir, pva_client_env(ioc))
