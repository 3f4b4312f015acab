"""Files that are not what they were: a probe goes where the symbols were read, or nowhere."""
import mmap
import os
import shutil
import signal
import subprocess

import pytest

from harness import databases, env
from harness.ioc import Ioc
from harness.scrape import PROCESSED
from harness.waiting import wait_until

COUNT = 23
ATTACHMENTS = "ioc_exporter_probe_attachments"
DETACHED = "ioc_exporter_detached"
FOR_ALL = 5  # so many IOCs on a library share one attachment


def processed(exporter, ioc, record):
    return exporter.scrape().count(PROCESSED, ioc=ioc.name, record=record)


def core_of(libraries):
    return max((path for path in libraries.iterdir() if "dbCore.so" in path.name), key=lambda p: len(p.name))


def offset_of_dbprocess(path) -> int:
    """In a library that maps its code where it stands in the file."""
    lines = subprocess.run(["readelf", "--wide", "--dyn-syms", "--segments", path], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    address = next(int(line.split()[1], 16) for line in lines if line.endswith(" dbProcess"))
    segments = [line.split() for line in lines if line.split()[:1] == ["LOAD"]]
    return next(address - int(virtual, 16) + int(offset, 16) for _, offset, virtual, _, size, *_ in segments
                if 0 <= address - int(virtual, 16) < int(size, 16))


class Bystander:
    """A process that maps the code of a file, as others do with libraries: this one."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.code = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)

    def byte(self, offset: int) -> int:
        return self.code[offset]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the breakpoint is looked for by its byte, int3")
def test_another_file_is_mapped_where_one_was_inspected(started, start_ioc, start_exporter, log_dir):
    """Processes of one user pass for IOCs, and map somebody else's file over their library before the
    probes are attached anew: nothing is written into that file's code, in any process."""
    library = core_of(env.base_dir("7.0.7") / "lib")
    shown, hidden = log_dir / "shown.so", log_dir / "hidden.so"
    shutil.copy(library, shown)
    hidden.write_bytes(b"\x55" * shown.stat().st_size)  # instructions that a probe may replace, all of it
    at = offset_of_dbprocess(shown)
    probed, harmed = Bystander(shown), Bystander(hidden)
    original = probed.byte(at)
    script = env.E2E_DIR.parent / "hostile" / "swapping_ioc.py"
    fakes = [started.add(Ioc(name, databases.counter("F"), log_dir,
                             prefix=[env.python(), script, shown, hidden])).wait_running()
             for name in (f"fake{i}" for i in range(FOR_ALL))]
    honest = start_ioc("honest", databases.counter("H"))
    exporter = start_exporter("--ioc.include=fake.|honest", sees=[*fakes, honest])
    wait_until(lambda: probed.byte(at) == 0xCC != original, "one attachment for all who map the file")
    honest.process_once("H:n", COUNT)

    exporter.process.popen.send_signal(signal.SIGUSR1)
    exporter.wait_scrape(lambda s: s.value(DETACHED) == 1, "detached")
    wait_until(lambda: probed.byte(at) == original, "the breakpoint is gone")
    for fake in fakes:
        os.kill(fake.pid, signal.SIGUSR1)
        fake.process.wait_for("^@swapped$")
    exporter.process.popen.send_signal(signal.SIGUSR2)
    exporter.wait_scrape(lambda s: s.value(DETACHED) == 0 and s.count(ATTACHMENTS, probe="record_process") > 0,
                         "attached again")
    assert harmed.byte(at) == 0x55, "a breakpoint in somebody else's code"
    wait_until(lambda: probed.byte(at) == 0xCC, "the probe is in the file that was inspected")
    assert harmed.byte(at) == 0x55
    honest.process_once("H:n", 7)
    assert processed(exporter, honest, "H:n") == COUNT + 7
