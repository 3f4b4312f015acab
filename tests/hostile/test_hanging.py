"""Processes whose memory or files never answer, beside a real IOC: nobody waits for them.

A FUSE file system of a user's own does it here; a dead NFS server does the same without malice.
"""
import os
import re
import signal
import subprocess
import sys

import pytest

from harness import databases, env
from harness.process import Process
from harness.scrape import PROCESSED
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--discovery.interval=200ms"]
GIVEN_UP = "ioc_exporter_readings_given_up_total"


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


def lives(fake: Process) -> None:
    """It can still change its memory, and nobody waits for a lock of it."""
    before = fake.stdout().count("@alive")
    wait_until(lambda: fake.stdout().count("@alive") > before + 3, f"{fake.name} goes on", 10)


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
                         "SIGUSR1 takes all probes off", 10)
    ioc.process_once("H:text1", 3)
    exporter.process.popen.send_signal(signal.SIGUSR2)
    exporter.wait_scrape(lambda s: s.value("ioc_exporter_probe_attachments", probe="record_process") > 0,
                         "SIGUSR2 attaches them again")
    lives(fake)
    assert exporter.process.terminate(10) == 0


def test_records_on_a_page_that_never_answers(start_ioc, start_exporter, silent_file, fake_ioc):
    ioc = start_ioc("beside-a-silent-page", databases.put_targets("H:", 2))
    file, server = silent_file("read")
    fake = fake_ioc("silent-page", file)
    exporter = start_exporter(f"--ioc.include={ioc.name}|silent-page", sees=[ioc])
    server.wait_for("^@asked$")
    scrape = exporter.wait_scrape(lambda s: s.value(GIVEN_UP) >= 1, "the reading is given up", 20)
    assert scrape.value("ioc_exporter_readers_stuck") >= 1
    wait_until(lambda: re.search("no answer within|did not answer", exporter.request("/")[2].decode()),
               "the page says so", 10)
    check_that_all_goes_on(exporter, ioc, fake)


@pytest.mark.parametrize("request_", ["open", "getattr"])
def test_code_in_a_file_that_never_answers(start_ioc, start_exporter, silent_file, fake_ioc, request_):
    ioc = start_ioc(f"beside-a-silent-{request_}", databases.put_targets("H:", 2))
    file, server = silent_file(request_)
    fake = fake_ioc(f"silent-{request_}", file, "code")
    exporter = start_exporter(f"--ioc.include={ioc.name}", sees=[ioc])
    server.wait_for("^@asked$")
    exporter.wait_scrape(lambda s: s.value(GIVEN_UP) >= 1, "the reading is given up", 20)
    exporter.process.wait_for(rf"no answer within.*\(pid {fake.pid}\)", "stderr")
    check_that_all_goes_on(exporter, ioc, fake)
