"""Names of open channels outlive the exporter where the server has no tables to read: in a file of --state.directory, after a clean end."""
import signal
import subprocess

import pytest

from harness.caproto_server import CaprotoServer
from harness.named_client import NamedClient
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records"]

PVS = ["K:one", "K:two"]


def puts(scrape):
    return {(labels["pv"], labels["user"], labels["client_host"]): value
            for labels, value in scrape.series(PUTS, ioc="kept")}


def failures(exporter) -> dict:
    return {labels["operation"]: value for labels, value in
            exporter.scrape().series("ioc_exporter_state_failures_total", state="channels") if value > 0}


@pytest.fixture
def server(started, log_dir):
    return started.add(CaprotoServer(log_dir, PVS, name="kept")).wait_running()


@pytest.fixture
def start(server, start_exporter):
    def run(folder):
        exporter = start_exporter("--ioc.include=kept", f"--ca.server-port={server.port}", f"--state.directory={folder}")
        exporter.wait_first_look()
        return exporter

    return run


def test_names_outlive_the_exporter(started, server, start, tmp_path):
    folder = tmp_path / "state"
    first = start(folder)
    client = started.add(NamedClient(server.port, "operator", "console")).open(PVS[0])
    client.put(PVS[0], 7)
    client.wait_done()
    assert puts(first.scrape()) == {(PVS[0], "operator", "console"): 7}
    assert first.stop() == 0
    file = folder / "channels"
    assert oct(file.stat().st_mode)[-3:] == "640" and PVS[0] in file.read_text()

    client.put(PVS[0], 5)  # nobody looks
    client.wait_done()

    second = start(folder)
    client.prove(PVS[0])
    client.open(PVS[1])
    for pv, count in zip(PVS, (13, 17)):
        client.put(pv, count)
    client.wait_done()
    assert puts(second.scrape()) == {(PVS[0], "operator", "console"): 13, (PVS[1], "operator", "console"): 17}
    assert failures(second) == {}
    second.process.popen.send_signal(signal.SIGKILL)
    second.process.popen.wait(10)
    assert file.read_text() == ""  # one start takes them
    file.write_text("{")  # as by a kill while it was written

    third = start(folder)
    third.process.wait_for("channels: .*: this file is ignored", "stderr")
    client.prove(PVS[0])
    client.put(PVS[0], 3)
    client.wait_done()
    scrape = third.wait_scrape(lambda s: s.total(PUTS, ioc="kept") == 3, "its puts, without their names")
    assert {labels["pv"] for labels, _ in scrape.series(PUTS, ioc="kept")} == {""}
    assert failures(third) == {"read": 1}
    assert server.counts(45) == {PVS[0]: 28, PVS[1]: 17}


def test_a_folder_that_is_read_only(start, tmp_path):
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o750)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,mode=0750", "tmpfs", folder])
    if mounted.returncode:
        pytest.skip("needs to mount a tmpfs")
    try:
        exporter = start(folder)
        exporter.process.wait_for("names of open channels do not outlive the exporter: .*Read-only file system", "stderr")
        assert failures(exporter) == {"open": 1}
        assert exporter.stop() == 0
    finally:
        subprocess.run(["umount", folder], check=True)
