"""A soft IOC inside a Python process, with the shell protocol of ioc_launcher.c.

    python_ioc.py [--spin] [--access-security FILE] [--qsrv 1|2] [MACROS DB]...

With --spin one of its threads never rests. With --qsrv it serves PVA: 1 by EPICS Base's own QSRV, 2 by that of
pvxs. The line "@exec" makes it begin anew in the same process, "@exit N" makes it end with status N.
"""
import argparse
import os
import sys
import threading
import time

from epicscorelibs import ioc


def spin() -> None:
    while True:
        pass


def pva_server(qsrv: int | None) -> dict[str, tuple]:
    """Options of start_ioc() for it."""
    if qsrv is None:
        return {}
    if qsrv == 1:
        return {"extra_dbd_load": ioc.pva_dbd_load, "extra_dso_load": ioc.pva_dso_load}
    import pvxslibs.path
    return {"extra_dbd_load": (("pvxsIoc.dbd", pvxslibs.path.dbd_path),),
            "extra_dso_load": ("pvxslibs.lib.pvxsIoc",)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spin", action="store_true")
    parser.add_argument("--access-security")
    parser.add_argument("--qsrv", type=int, choices=[1, 2])
    parser.add_argument("databases", nargs="*")
    args = parser.parse_args()

    if args.access_security and ioc.dbCore.asSetFilename(args.access_security.encode()):
        sys.exit(f"python_ioc: no access security from {args.access_security}")
    pairs = list(zip(args.databases[1::2], args.databases[0::2]))
    ioc.start_ioc(dbs=pairs, **pva_server(args.qsrv))
    if args.spin:
        threading.Thread(target=spin, daemon=True).start()
    print("@running", flush=True)
    for line in iter(sys.stdin.readline, ""):
        if line == "@exec\n":
            os.execv(sys.executable, [sys.executable, *sys.argv])
        if line.startswith("@exit "):
            os._exit(int(line.split()[1]))
        if ioc.ioc(line.rstrip("\n")):
            print(f"python_ioc: command failed: {line.rstrip()}", file=sys.stderr, flush=True)
        print("\n@done", flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
