"""Programs that serve PV Access and are no IOC of EPICS Base."""
import json
import pathlib

from . import env
from .ports import free_port
from .process import Process

SEARCH_PORT = 5076  # the usual one


class PvaServer:
    """tests/tools/pva_server.py (p4p): the exporter names it as IOCNAME says."""

    def __init__(self, log_dir: pathlib.Path, pvs: list[str], name: str):
        self.name = name
        self.pva_port = self.port = free_port()
        self.pva_search_port = SEARCH_PORT
        self.process = Process(name, [env.python(), env.TOOLS_SOURCE_DIR / "pva_server.py", "127.0.0.1",
                                      f"{self.pva_port}/{SEARCH_PORT}", *pvs], log_dir,
                               {"IOCNAME": name, "IOC_NAME": "", "IOC": ""})
        self.process.wait_for("^@ready$")

    @property
    def pid(self) -> int:
        return self.process.pid

    def saw(self, what: str, pv: str) -> int:
        """How many of these the server has seen: "put", "closed" or "call"."""
        return self.process.stdout().count(f"@{what} {pv}\n")

    def kill(self) -> None:
        self.process.kill()


class PvaGateway:
    """p4p's gateway between clients and an IOC."""

    def __init__(self, log_dir: pathlib.Path, ioc, name: str):
        self.name = name
        self.pva_port = self.port = free_port()
        self.pva_search_port = SEARCH_PORT
        config = log_dir / f"{name}.json"
        config.write_text(json.dumps({
            "version": 2,
            "clients": [{"name": "client", "provider": "pva", "addrlist": f"127.0.0.1:{ioc.pva_search_port}",
                         "autoaddrlist": False, "bcastport": ioc.pva_search_port}],
            "servers": [{"name": "server", "clients": ["client"], "interface": ["127.0.0.1"], "autoaddrlist": False,
                         "serverport": self.pva_port, "bcastport": SEARCH_PORT}]}))
        self.process = Process(name, [env.python(), "-m", "p4p.gw", "-v", config], log_dir,
                               {"IOCNAME": name, "IOC_NAME": "", "IOC": ""})
        self.process.wait_for("Setup GW clients to ignore GW servers", "stderr")

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
