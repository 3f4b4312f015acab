"""No IOC, but a process that looks like one: it maps libdbCore, and where its records should be, a file.

    fake_ioc.py LIBRARY FILE [code]    code: it maps the file executable, as if it were a library, and no libdbCore

It changes its own memory all the time, and prints a line each time: it goes on as long as nobody holds its locks.
"""
import ctypes
import mmap
import os
import sys
import time

PROT_READ, PROT_EXEC, MAP_PRIVATE = 1, 4, 2


def main() -> None:
    library, file, *code = sys.argv[1:]
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    fd = os.open(file, os.O_RDONLY)
    records = libc.mmap(None, 1 << 20, PROT_READ | (PROT_EXEC if code else 0), MAP_PRIVATE, fd, 0)
    if not code:
        base = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        ctypes.c_void_p.in_dll(base, "pdbbase").value = records
    print("@ready", flush=True)
    while True:
        mmap.mmap(-1, 1 << 20).close()
        print("@alive", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()
