"""A user's process with many files that look like libraries and take long to search, beside a real IOC."""
import os
import pathlib
import struct
import tempfile

import pytest

from harness import databases
from harness.process import Process
from harness.scrape import PROCESSED

EXPORTER_OPTIONS = ["--discovery.interval=200ms"]
FILES = 400
TABLE = 24 * (4 << 20)  # what each says that it has of symbols, all of it a hole

MAPPER = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for name in os.listdir(sys.argv[1]):
    fd = os.open(os.path.join(sys.argv[1], name), os.O_RDONLY)
    assert libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0)) != -1
    os.close(fd)
print("@mapped", flush=True)
time.sleep(600)
"""


def sparse_library(path) -> None:
    """An ELF file for this processor with a symbol table in a hole: some KiB on disk."""
    with open("/proc/self/exe", "rb") as own:
        ident, machine = own.read(16), struct.unpack("<HH", own.read(4))[1]
    names = b"\0.symtab\0.strtab\0dbProcess\0"
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 128, 0, 64, 56, 1, 64, 3, 2)
    program = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 4096, 4096, 4096)
    sections = [struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                struct.pack("<IIQQQQIIQQ", 1, 2, 0, 0, 8192, TABLE, 2, 1, 8, 24),
                struct.pack("<IIQQQQIIQQ", 9, 3, 0, 0, 4096, len(names), 0, 0, 1, 0)]
    with open(path, "wb") as file:
        file.write((header + program).ljust(128, b"\0") + b"".join(sections))
        file.seek(4096)
        file.write(names)
        file.truncate(8192 + TABLE)


@pytest.fixture
def open_folder():
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


def test_sparse_libraries(start_ioc, start_exporter, started, log_dir, open_folder):
    """They are searched within a budget, and not by the thread that governs; a new IOC is found meanwhile."""
    first = start_ioc("before-sparse", databases.put_targets("S:", 1))
    exporter = start_exporter("--ioc.include=(before|after)-sparse", sees=[first])
    for number in range(FILES):
        sparse_library(open_folder / f"lib{number}.so")
    mapper = started.add(Process("mapper", ["/usr/bin/python3", "-c", MAPPER, open_folder], log_dir, user=65534))
    mapper.wait_for("^@mapped$")
    exporter.wait_scrape(lambda s: s.value("ioc_exporter_readings_put_off_total") > 0, "they are put off", 60)
    second = start_ioc("after-sparse", databases.put_targets("S:", 1))
    exporter.wait_up(second, 60)
    for ioc in (first, second):
        ioc.process_once("S:text1", 23)
        exporter.wait_scrape(lambda s: s.count(PROCESSED, ioc=ioc.name, record="S:text1") == 23, "exact counts")
    # The first round waits for the first look at the host: it was before all this.
    assert exporter.scrape().value("ioc_exporter_loop_tick_longest_seconds") < 5
    assert exporter.process.terminate(2) == 0
