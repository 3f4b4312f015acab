"""A CA server that is no IOC of EPICS Base."""
import pathlib

from . import env
from .ioc import ca_server_env
from .ports import free_port
from .process import Process


class CaprotoServer:
    """tests/tools/caproto_server.py: the exporter names it after its script, or as IOCNAME says."""

    def __init__(self, log_dir: pathlib.Path, pvs: list[str], port: int | None = None,
                 name: str = "caproto_server"):
        self.name = name
        self.pvs = pvs
        self.port = port or free_port()
        environment = ca_server_env(self.port) | {"IOCNAME": "", "IOC_NAME": "", "IOC": ""}
        if name != "caproto_server":
            environment["IOCNAME"] = name
        self.process = Process(name, [env.python(), env.TOOLS_SOURCE_DIR / "caproto_server.py", *pvs],
                               log_dir, environment)

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_running(self) -> "CaprotoServer":
        self.process.wait_for("^@running$", timeout=60)
        return self

    def counts(self, writes: int) -> dict[str, int]:
        """How many writes each PV took, when it has done so many in all. Ask once."""
        self.process.send_line(str(writes))
        counts = self.process.wait_for(r"^@counts ([\d ]+)\n")[1].split()
        return dict(zip(self.pvs, map(int, counts), strict=True))

    def kill(self) -> None:
        self.process.kill()
