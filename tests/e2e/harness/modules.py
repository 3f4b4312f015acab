"""Libraries that look as community modules do (tests/tools/modules), in a real IOC."""
from . import env

BASE = env.PYTHON_BASE
LIBRARIES = ("asyn", "stream", "seq", "sncExample", "autosave", "NDPlugin", "caPutLog")


def start(start_ioc, name: str, database: str, kind: str | None = "modules"):
    """An IOC that has loaded them. `kind`: "modules"; "shifted_modules", whose fields stand elsewhere;
    "older_modules", of asyn before R4-45; None: without."""
    ioc = start_ioc(name, database, base=BASE, lib_dir=env.base_dir(BASE) / "lib")
    for library in LIBRARIES if kind else ():
        load(ioc, library, kind)
    return ioc


def load(ioc, library: str, kind: str = "modules") -> None:
    assert ioc.shell(f"loadModule {env.tool(kind) / f'lib{library}.so'}") == ""
