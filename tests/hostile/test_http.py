"""One address does what it can to keep another's scrapes from their answers."""
import base64
import contextlib
import http.client
import itertools
import socket
import threading
import time

import pytest

from harness.waiting import wait_until

SCRAPES = 25
WITHIN = 5  # seconds
OTHER = "127.0.0.2"
# Of "secret", with the cost that htpasswd -nBC 10 gives it: a check takes some 70 ms.
HASH = "$2b$10$abcdefghijklmnopqrstuuqflPDzB6gcMhKa1rZqKiun2YGL5sa2u"


def login(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture(scope="module")
def exporter(shared, tmp_path_factory):
    web = tmp_path_factory.mktemp("web") / "web.yml"
    web.write_text(f"basic_auth_users: {{scraper: {HASH}, late: {HASH}}}\n")
    exporter = shared.exporter("--no-collector.puts", f"--web.config.file={web}")
    assert scrape(exporter.port)[0] == 200
    return exporter


def scrape(port: int, user: str = "scraper") -> tuple[int, float]:
    """(status, seconds)."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(OTHER, 0))
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", headers={"Authorization": login(user, "secret")})
        answer = connection.getresponse()
        answer.read()
        return answer.status, time.monotonic() - began


def connect(port: int, request: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(request.encode())
    return connection


@contextlib.contextmanager
def beside(loop):
    """It is called again and again, in a thread of its own, until the end."""
    done = threading.Event()

    def run():
        while not done.is_set():
            loop()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def expect_scrapes(port: int, attack: str):
    answers = []
    for _ in range(SCRAPES):
        answers.append(scrape(port))
        time.sleep(0.2)  # the slow connections come and go meanwhile
    slowest = max(seconds for _, seconds in answers)
    print(f"{attack}: slowest of {SCRAPES} scrapes {slowest:.3f} s")
    assert [status for status, _ in answers] == [200] * SCRAPES, attack
    assert slowest < WITHIN, attack


def test_slow_and_idle_connections_and_wrong_passwords(exporter):
    """300 connections, made anew when they are cut, and 100 guesses a second, each another one."""
    kinds = ["", "GET /metrics HTTP/1.1\r\nX-Slow: ", "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"]
    slow = {i: connect(exporter.port, kinds[i % 3]) for i in range(300)}
    guesses = itertools.count()
    guessing, seconds = [], []

    def second():
        until = time.monotonic() + 1
        for connection in guessing:
            connection.close()
        guessing[:] = [connect(exporter.port, "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: "
                               f"{login('scraper', f'guess{next(guesses)}')}\r\n\r\n") for _ in range(100)]
        for i, connection in slow.items():
            try:
                connection.send(b"x" * (i % 3 > 0))
                connection.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) or connection.close()
            except BlockingIOError:
                continue
            except OSError:
                pass
            connection.close()
            slow[i] = connect(exporter.port, kinds[i % 3])
        seconds.append(until)
        time.sleep(max(0, until - time.monotonic()))

    with beside(second):
        wait_until(lambda: len(seconds) > 2, "it goes on")
        expect_scrapes(exporter.port, "slow connections and wrong passwords")
        print(f"{len(seconds)} times 100 guesses")
        assert scrape(exporter.port, "late")[0] == 200  # a first login
    for connection in [*slow.values(), *guessing]:
        connection.close()


def test_refusals_are_counted(exporter):
    def counted() -> dict[str, int]:
        body = exporter.request("/metrics", headers={"Authorization": login("scraper", "secret")})[2].decode()
        return {line.split('"')[1]: int(line.split()[-1]) for line in body.splitlines()
                if line.startswith("ioc_exporter_http_refused_total{")}

    wait_until(lambda: exporter.request("/-/healthy", headers={"Authorization": login("scraper", "secret")})[0] == 200, "it answers")
    refused = counted()
    assert min(refused[reason] for reason in ("password", "requests")) > 0, refused
    assert "refused GET /metrics from 127.0.0.1" in exporter.process.describe()
    # Another page's name for this host.
    assert exporter.request("/metrics", headers={"Authorization": login("scraper", "secret"), "Host": "evil.example"})[0] == 403
    wait_until(lambda: counted().get("host", 0) == refused.get("host", 0) + 1, "it is counted, once it is answered")
