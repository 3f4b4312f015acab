"""Passes for an IOC by a file that it maps, and maps another one over it when it gets SIGUSR1.

    swapping_ioc.py SHOWN HIDDEN PYTHON PYTHON_IOC ARGUMENT...

Runs the soft IOC of the last arguments, with SHOWN mapped executable before all other libraries.
"""
import ctypes
import mmap
import os
import runpy
import signal
import sys

PLACE = 0x20000000  # below what the kernel chooses by itself
MAP_FIXED = 0x10

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def map_there(path: str, size: int) -> None:
    with open(path, "rb") as file:
        at = libc.mmap(PLACE, size, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE | MAP_FIXED, file.fileno(), 0)
    assert at == PLACE, os.strerror(ctypes.get_errno())


def main() -> None:
    shown, hidden, _, program, *arguments = sys.argv[1:]
    size = os.stat(shown).st_size
    map_there(shown, size)

    def swap(*_):
        map_there(hidden, size)
        print("@swapped", flush=True)

    signal.signal(signal.SIGUSR1, swap)
    sys.argv = [program, *arguments]
    runpy.run_path(program, run_name="__main__")


main()
