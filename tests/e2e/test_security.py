"""What the exporter may do once it runs, and what it tells the service manager."""
import os
import pathlib
import signal
import socket

from harness import databases
from harness.scrape import PROCESSED
from harness.waiting import wait_until

# linux/capability.h
DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN = 2, 13, 19, 21
BPF = 39
KEPT = [DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN]


def threads_of(pid: int) -> list[dict[str, str]]:
    """/proc/PID/task/*/status, field -> value."""
    return [dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)
            for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status")]


def mask(capabilities: list[int]) -> str:
    return f"{sum(1 << each for each in capabilities):016x}"


def test_rights_that_are_left(start_exporter, start_ioc):
    """Each thread has the capabilities that the documentation names and no more, and with them an IOC that
    starts later is found, read and counted."""
    exporter = start_exporter("--ioc.include=confined")
    threads = threads_of(exporter.pid)
    assert len(threads) > 1
    for thread in threads:
        assert "0" not in thread["Uid"].split() + thread["Gid"].split(), thread
        for which, left in (("CapEff", KEPT), ("CapPrm", KEPT), ("CapBnd", KEPT), ("CapInh", []),
                            ("CapAmb", [])):
            assert thread[which] == mask(left), (which, thread)
        assert (thread["NoNewPrivs"], thread["Seccomp"], thread["Groups"].strip()) == ("1", "2", "")
    ioc = start_ioc("confined", databases.counting(), macros="P=SEC:")
    exporter.wait_up(ioc)
    ioc.process_once("SEC:trigger", 23)
    exporter.wait_scrape(lambda scrape: scrape.count(PROCESSED, ioc=ioc.name, record="SEC:trigger") == 23,
                         "23 processings")
    assert exporter.stop() == 0


def test_rights_may_be_fewer_or_kept(start_exporter):
    few = start_exporter("--no-collector.records", "--security.capabilities=net_raw,bpf",
                         "--security.user=12345", "--no-security.sandbox")
    all_of_them = start_exporter("--no-collector.records", "--security.capabilities=all",
                                 "--security.user=root", "--no-security.sandbox")
    for thread in threads_of(few.pid):
        assert thread["Uid"].split() == ["12345"] * 4
        assert (thread["CapEff"], thread["Seccomp"]) == (mask([NET_RAW, BPF]), "0")
    own = threads_of(os.getpid())[0]
    for thread in threads_of(all_of_them.pid):
        assert thread["Uid"].split() == ["0"] * 4
        assert (thread["CapEff"], thread["Seccomp"]) == (own["CapEff"], "0")
    # It says what it cannot do any more.
    few.wait_scrape(lambda scrape: scrape.value("ioc_exporter_collector_success", collector="discovery") == 0,
                    "discovery that says that it cannot look")
    assert "run as root, with CAP_SYS_PTRACE" in few.process.stderr()


class Manager:
    """The service manager's side of sd_notify(3)."""

    def __init__(self):
        self.name = f"ioc_exporter-test-{os.getpid()}"  # in the abstract namespace
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.name)
        self.socket.setblocking(False)
        self.heard: list[str] = []

    def listen(self) -> list[str]:
        try:
            while True:
                self.heard.append(self.socket.recv(4096).decode())
        except BlockingIOError:
            return self.heard


def test_service_manager_hears_of_it(start_exporter, start_ioc, monkeypatch):
    manager = Manager()
    monkeypatch.setenv("NOTIFY_SOCKET", "@" + manager.name)
    monkeypatch.setenv("WATCHDOG_USEC", "600000")
    exporter = start_exporter("--no-collector.records", "--ioc.include=notified")
    wait_until(lambda: any(text.startswith("READY=1\nSTATUS=0 IOCs; ca_tap, ca_udp")
                           for text in manager.listen()), "READY after the first look", 5)
    start_ioc("notified", databases.counting(), macros="P=N:")
    wait_until(lambda: "STATUS=1 IOC; ca_tap, ca_udp" in manager.listen(), "one IOC", 5)
    wait_until(lambda: manager.listen().count("WATCHDOG=1") >= 5, "five signs of life", 5)
    assert sum(text.startswith("READY=1") for text in manager.heard) == 1
    exporter.process.popen.send_signal(signal.SIGHUP)
    wait_until(lambda: sum(text.startswith("READY=1") for text in manager.listen()) == 2, "reloaded", 5)
    states = [text for text in manager.heard if text.startswith(("RELOADING=1\nMONOTONIC_USEC=", "READY=1"))]
    assert [text.split("=")[0] for text in states] == ["READY", "RELOADING", "READY"]
    assert exporter.stop() == 0
    assert manager.listen()[-1] == "STOPPING=1\nSTATUS=stopping"
