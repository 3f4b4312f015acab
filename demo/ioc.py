"""The demo's soft IOC: loads the databases in db/ and runs until it is ended."""
import os
import pathlib
import signal

from epicscorelibs import ioc


def main() -> None:
    os.chdir(pathlib.Path(__file__).resolve().parent / "db")
    # Not ioc.start_ioc: the substitutions file needs a shell command between loading and iocInit.
    ioc.iocshRegisterCommon()
    if ioc.dbLoadDatabase(b"base.dbd", ioc.DEFAULT_DBD_PATH.encode(), None):
        raise SystemExit("demo IOC: base.dbd could not be loaded")
    if ioc.registerRecordDeviceDriver(ioc.pdbbase):
        raise SystemExit("demo IOC: record support could not be registered")
    if ioc.ioc("dbLoadTemplate power_supplies.substitutions"):
        raise SystemExit("demo IOC: power_supplies.substitutions could not be loaded")
    if ioc.dbLoadRecords(b"ring.db", b""):
        raise SystemExit("demo IOC: ring.db could not be loaded")
    if ioc.iocInit():
        raise SystemExit("demo IOC: iocInit failed")
    print("demo IOC is running", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
