"""Neighbours that tests have beside a real IOC: fixtures, each of which gives a function that starts one."""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

import pytest

from harness import env
from harness.network import OtherNetwork, enter_own_network
from harness.process import Process
from harness.scrape import PROCESSED
from harness.waiting import wait_until

SPARSE_FILES = 400
TABLE = 24 * (4 << 20)  # claimed size of each symbol table, all of it a hole

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


@pytest.fixture(scope="module")
def network(shared):
    """The module has a network of its own, and beside it another one."""
    enter_own_network()
    return shared.started.add(OtherNetwork())


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
def map_sparse_files(started, log_dir):
    """A user's process that maps many of them."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)

        def start() -> Process:
            for number in range(SPARSE_FILES):
                sparse_library(pathlib.Path(folder) / f"lib{number}.so")
            mapper = started.add(Process("mapper", ["/usr/bin/python3", "-c", MAPPER, folder], log_dir,
                                         user=env.NOBODY))
            mapper.wait_for("^@mapped$")
            return mapper

        yield start


@pytest.fixture
def silent_file(started, tmp_path, log_dir):
    """silent_file(request) -> a file of a user's file system that never answers such requests, and its server."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs /dev/fuse")
    mounted = []

    def make(request: str):
        directory = tmp_path / f"silent-{request}"
        directory.mkdir()
        server = started.add(Process(f"silent_fs_{request}", [sys.executable, env.TOOLS_SOURCE_DIR / "silent_fs.py",
                                                              directory, request, "4711"], log_dir))
        server.wait_for("^@mounted$")
        mounted.append((server, directory))
        return directory / "f", server

    yield make
    for server, directory in mounted:
        server.kill()  # with it ends all that waits
        subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.fixture
def fake_ioc(started, log_dir):
    def start(name: str, file, *options: str) -> Process:
        library = next((env.base_dir("7.0.7") / "lib").glob("libdbCore.so*"))
        environment = {"IOCNAME": name, "LD_LIBRARY_PATH": str(env.base_dir("7.0.7") / "lib")}
        fake = started.add(Process(name, [env.python(), env.TOOLS_SOURCE_DIR / "fake_ioc.py", library, file, *options],
                                   log_dir, environment))
        fake.wait_for("^@ready$")
        return fake

    return start


@pytest.fixture
def make_noise(started, log_dir):
    """Somebody who talks nonsense to a CA server and to the exporter."""
    def start(ioc, exporter) -> Process:
        script = env.for_any_user(env.E2E_DIR.parent / "hostile" / "noise.py")
        noise = started.add(Process("noise", ["/usr/bin/python3", script, ioc.port, exporter.port], log_dir,
                                    user=env.NOBODY))
        noise.wait_for("^@noise$")
        return noise

    return start


def lives(fake: Process) -> None:
    """It can still change its memory, and nobody waits for a lock of it."""
    before = fake.stdout().count("@alive")
    wait_until(lambda: fake.stdout().count("@alive") > before + 3, f"{fake.name} goes on")


def check_that_all_goes_on(exporter, ioc, fake) -> None:
    processed = exporter.scrape().count(PROCESSED, ioc=ioc.name, record="H:text1")
    ioc.process_once("H:text1", 23)
    exporter.wait_scrape(lambda s: s.count(PROCESSED, ioc=ioc.name, record="H:text1") == processed + 23,
                         "the real IOC is counted exactly")
    lives(fake)
    assert exporter.request("/")[0] == 200
    exporter.process.popen.send_signal(signal.SIGUSR1)
    exporter.wait_scrape(lambda s: s.value("ioc_exporter_detached") == 1
                         and s.value("ioc_exporter_probe_attachments", probe="record_process") == 0,
                         "SIGUSR1 takes all probes off")
    ioc.process_once("H:text1", 3)
    exporter.process.popen.send_signal(signal.SIGUSR2)
    exporter.wait_scrape(lambda s: s.value("ioc_exporter_probe_attachments", probe="record_process") > 0,
                         "SIGUSR2 attaches them again")
    lives(fake)
    assert exporter.process.terminate() == 0
