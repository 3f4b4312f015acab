"""Starts many processes that pass for IOCs, each with a database in its memory, and ends with them.

    many_fakes.py PROGRAM COUNT NAME    the names are NAME0, NAME1, ...; COUNT 1: NAME alone
"""
import ctypes
import signal
import subprocess
import sys
import time


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> None:
    program, count, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    for i in range(count):
        subprocess.Popen([program, "F:n"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         env={"IOCNAME": f"{name}{i}" if count > 1 else name}, preexec_fn=end_with_parent)
    print("@ready", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main()
