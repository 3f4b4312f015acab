"""ioc_exporter top: what is busy, as text and on a terminal."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from harness import clients, env
from harness.exporter import run_exporter, run_exporter_as_nobody
from harness.waiting import wait_until

DATABASE = """
    record(ao,"T:a"){field(FLNK,"T:sum")}
    record(ao,"T:b"){field(FLNK,"T:sum")}
    record(calc,"T:sum"){}
"""
COUNT = 23
SCRAPES = "ioc_exporter_http_requests_total"


@pytest.fixture(scope="module")
def place(shared):
    ioc = shared.ioc("top", DATABASE)
    return type("Place", (), {"ioc": ioc, "exporter": shared.exporter(sees=[ioc])})


def command(exporter, *options):
    return [str(env.exporter_binary()), "top", f"--url=http://127.0.0.1:{exporter.port}", *options]


def table(text: str) -> tuple[str, list[dict[str, str]]]:
    """The summary, and the rows by their columns; no cell has two blanks in it."""
    summary, blank, head, *rows = text.splitlines()
    assert blank == ""
    columns = head.split()
    if "MOST" in columns:
        columns[-2:] = ["MOST WRITTEN"]
    columns = [column for column in columns if column != "%"]
    return summary, [dict(zip(columns, row.split())) for row in rows]


def test_once_prints_changes(place, connect):
    """Both tables of one interval in which each of two records was written 23 times."""
    exporter = place.exporter
    puts = connect(clients.libca, [place.ioc], ["T:a", "T:b"], COUNT)
    before = exporter.scrape().value(SCRAPES, path="/metrics")  # of which this is one more
    with contextlib.ExitStack() as stack:
        records, by_client = (stack.enter_context(subprocess.Popen(
            command(exporter, "--once", "--interval=12s", f"--by={by}"), stdout=subprocess.PIPE, text=True))
            for by in ("records", "clients"))
        own = 1

        def both_have_looked():
            nonlocal own
            own += 1
            return exporter.scrape().value(SCRAPES, path="/metrics") == before + own - 1 + 2

        wait_until(both_have_looked, "both have looked once")
        assert puts.send() == 2 * COUNT
        (records_text, _), (clients_text, _) = records.communicate(timeout=60), by_client.communicate(timeout=60)
        assert (records.returncode, by_client.returncode) == (0, 0)
    summary, rows = table(records_text)
    assert summary.startswith("1 IOC; ")
    rates = {row["RECORD"]: float(row["CALLS/S"]) for row in rows}
    assert set(rates) == {"T:a", "T:b", "T:sum"}
    assert rates["T:a"] == rates["T:b"] > 0
    assert abs(rates["T:sum"] - 2 * rates["T:a"]) < 0.16  # each has one decimal
    assert {row["IOC"] for row in rows} == {place.ioc.name}
    assert all(float(row["µs/CALL"]) > 0 for row in rows)
    _, (client,) = table(clients_text)
    assert (client["CLIENT"], client["IOCS"], client["PVS"]) == ("127.0.0.1", "1", "2")
    assert abs(float(client["PUTS/S"]) - 2 * rates["T:a"]) < 0.5  # of another interval


def test_without_a_terminal_it_prints_once(place):
    done = run_exporter_as_nobody(*command(place.exporter, "--by=iocs", "--interval=100ms")[1:])
    assert (done.returncode, done.stderr) == (0, "")
    _, (row,) = table(done.stdout)
    assert row["IOC"] == place.ioc.name and float(row["MIB"]) > 1 and int(row["CIRCUITS"]) >= 0


def test_errors_are_told(place):
    for options, status, why in [(["--by=all"], 2, "none of records, iocs and clients"),
                                 (["--interval=1ms"], 2, "not from 100ms to 1h"), (["word"], 2, "unexpected argument"),
                                 (["--metrics-path=/runbooks/"], 1, "not as ioc_exporter does"),
                                 (["--url=http://127.0.0.1:1"], 1, "Connection refused")]:
        done = run_exporter(*command(place.exporter, "--once", *options)[1:])
        assert done.returncode == status and why in done.stderr and done.stdout == "", done


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, argv):
        self.fd, its = pty.openpty()
        self.resize(24, 100)
        self.before = termios.tcgetattr(self.fd)
        self.program = subprocess.Popen(argv, stdin=its, stdout=its, stderr=its, start_new_session=True)
        self.path = os.ttyname(its)
        os.close(its)
        self.shown = b""

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read_until(self, text: bytes, since: int = 0):
        end = time.monotonic() + 30
        while text not in self.shown[since:]:
            assert select.select([self.fd], [], [], end - time.monotonic())[0], self.shown
            self.shown += os.read(self.fd, 65536)
        return len(self.shown)

    def read_to_the_end(self) -> int:
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while piece := os.read(self.fd, 65536):
                self.shown += piece
        return self.program.wait(30)


@pytest.fixture
def terminal(place):
    things = []

    def start(*options):
        things.append(Terminal(command(place.exporter, *options)))
        return things[-1]

    yield start
    for thing in things:
        thing.program.kill()
        thing.program.wait()
        os.close(thing.fd)


def test_on_a_terminal(terminal):
    screen = terminal("--interval=200ms")
    at = screen.read_until("µs/CALL".encode())
    assert screen.shown.startswith(b"\x1b[?1049h\x1b[?25l")
    keys = termios.tcgetattr(screen.fd)[3]
    assert not keys & (termios.ICANON | termios.ECHO)
    os.write(screen.fd, b"i")
    at = screen.read_until(b"CIRCUITS", at)
    os.write(screen.fd, b"c")
    at = screen.read_until(b"MOST WRITTEN", at)
    screen.resize(8, 12)
    os.kill(screen.program.pid, signal.SIGWINCH)
    at = screen.read_until(b"\x1b[Hioc_exporter\x1b[K", at)  # cut to 12 characters
    os.write(screen.fd, b"q")
    assert screen.read_to_the_end() == 0
    assert screen.shown.endswith(b"\x1b[?25h\x1b[?1049l")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(terminal, how):
    screen = terminal("--interval=1h")
    screen.read_until(b"q end")
    its = os.open(screen.path, os.O_RDWR | os.O_NOCTTY)  # its settings would be gone with it
    os.kill(screen.program.pid, how)
    screen.read_until(b"\x1b[?25h\x1b[?1049l")
    assert screen.program.wait(30) == 0
    assert termios.tcgetattr(its) == screen.before
    os.close(its)


def test_an_exporter_that_is_not_there_is_told(terminal):
    screen = terminal("--url=http://127.0.0.1:1")
    assert screen.read_to_the_end() == 1
    assert b"\x1b[?1049l" in screen.shown and b"Connection refused" in screen.shown.split(b"\x1b[?1049l")[1]
