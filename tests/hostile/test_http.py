"""Whoever reaches the port does what he can to keep a scraper from its answer: each scrape of a known user is answered."""
import base64
import contextlib
import http.client
import socket
import threading
import time

import pytest

from harness.waiting import wait_until

SCRAPES = 25
TIMEOUT = 10  # seconds: what Prometheus waits
# Of "secret", with the cost that htpasswd -nBC 10 gives it: a check takes some 70 ms.
HASH = "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u"


def login(user: str, password: str) -> str:
    return "Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode() + "\r\n"


@pytest.fixture(scope="module")
def exporter(shared, tmp_path_factory):
    web = tmp_path_factory.mktemp("web") / "web.yml"
    web.write_text(f"basic_auth_users: {{scraper: {HASH}, guest: {HASH}}}\n"
                   "rate_limit: {interval: 1s, burst: 400}\n")
    exporter = shared.exporter("--no-collector.puts", f"--web.config.file={web}")
    for user in ("scraper", "guest"):
        assert ask(exporter.port, user)[0] == 200
    return exporter


def ask(port: int, user: str, path: str = "/metrics") -> tuple[int, float]:
    """(status, seconds)."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    with contextlib.closing(connection):
        name, value = login(user, "secret").strip().split(": ")
        connection.request("GET", path, headers={name: value})
        answer = connection.getresponse()
        answer.read()
        return answer.status, time.monotonic() - began


def connect(port: int, request: str, address: str = "127.0.0.1") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
    connection.sendall(request.encode())
    return connection


@contextlib.contextmanager
def beside(*loops):
    """Each of them is called again and again, in a thread of its own, until the end."""
    done = threading.Event()

    def run(loop):
        while not done.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                loop()

    threads = [threading.Thread(target=run, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def expect_scrapes(port: int, attack: str):
    answers = [ask(port, "scraper") for _ in range(SCRAPES)]
    slowest = max(seconds for _, seconds in answers)
    print(f"{attack}: slowest of {SCRAPES} scrapes {slowest:.3f} s")
    assert [status for status, _ in answers] == [200] * SCRAPES, attack


def test_bodies_that_trickle(exporter):
    head = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(exporter.port, head)) for _ in range(150)]

        def trickle():
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.send(b"x")
            time.sleep(0.2)

        with beside(trickle):
            expect_scrapes(exporter.port, "bodies that trickle")


def test_wrong_passwords(exporter):
    """Each guess is another one, and its connection is kept."""
    guesses = iter(range(10**9))

    def guess():
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                request = f"GET /metrics HTTP/1.1\r\nHost: x\r\n{login('scraper', f'guess{next(guesses)}')}\r\n"
                stack.enter_context(connect(exporter.port, request, "127.0.0.9"))
            time.sleep(1)

    with beside(guess):
        time.sleep(0.5)
        expect_scrapes(exporter.port, "wrong passwords")


def test_pages_of_another_user(exporter):
    loops = [lambda: ask(exporter.port, "guest", "/")] * 5
    loops += [lambda: ask(exporter.port, "guest", "/api/v1/who-wrote?pv=x")] * 5
    with beside(*loops):
        expect_scrapes(exporter.port, "pages of another user")


def test_slow_readers(exporter):
    """They ask for the page, with room for little of it, and do not read."""
    ask_for_it = f"GET /metrics HTTP/1.1\r\nHost: x\r\n{login('guest', 'secret')}\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(45):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.connect(("127.0.0.1", exporter.port))
            reader.sendall(ask_for_it.encode())
        expect_scrapes(exporter.port, "slow readers")


def test_more_than_the_rate(exporter):
    """Nobody's requests, from the scraper's own address, use up what the scraper may."""
    refused = threading.Event()

    def flood():
        with connect(exporter.port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 50) as connection:
            connection.settimeout(TIMEOUT)
            while answers := connection.recv(65536):
                if b" 429 " in answers:
                    refused.set()

    with beside(*[flood] * 4):
        assert refused.wait(60)
        expect_scrapes(exporter.port, "more than the rate")


def test_refusals_are_counted(exporter, tmp_path):
    scraper = login("scraper", "secret").strip().split(": ")
    body = exporter.request("/metrics", headers=dict([scraper]))[2].decode()
    refused = {line.split('"')[1]: int(line.split()[-1]) for line in body.splitlines()
               if line.startswith("ioc_exporter_http_refused_total{")}
    assert min(refused[reason] for reason in ("password", "password_turn", "rate_limit")) > 0, refused
    assert "refused GET /metrics from 127.0.0." in exporter.process.describe()
    # Another page's name for this host.
    before = refused["host"]
    assert exporter.request("/metrics", headers=dict([scraper, ("Host", "evil.example")]))[0] == 403
    wait_until(lambda: f'ioc_exporter_http_refused_total{{reason="host"}} {before + 1}\n'
               in exporter.request("/metrics", headers=dict([scraper]))[2].decode(), "it is counted, once it is answered")
