"""The pages: /metrics in its formats, /, /-/healthy, --once, --check, and the ends."""
import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

import pytest

from harness import databases, env
from harness.exporter import run_exporter
from harness.ports import free_port
from harness.scrape import PROCESSED, Scrape
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("served", databases.counting(), macros="P=S:")


@pytest.fixture(scope="module")
def exporter(shared, ioc):
    return shared.exporter(sees=[ioc])


def test_metrics_says_its_format(ioc, exporter):
    status, headers, body = exporter.request("/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "content-encoding" not in headers
    assert body.endswith(b"\n")
    assert Scrape(body.decode()).value("epics_ioc_up", ioc=ioc.name) == 1


def test_gzip_when_asked(ioc, exporter):
    before = exporter.scrape()
    _, headers, body = exporter.request("/metrics", headers={"Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip"
    scrape = Scrape(gzip.decompress(body).decode())
    assert scrape.value("epics_ioc_up", ioc=ioc.name) == 1
    # A family comes with its first series: a beacon may arrive at any moment.
    assert before.families.keys() <= scrape.families.keys() <= exporter.scrape().families.keys()


def test_head_and_other_methods(ioc, exporter):
    status, headers, body = exporter.request("/metrics", "HEAD")
    assert (status, body) == (200, b"")
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert exporter.request("/metrics", "POST")[0] == 405
    assert exporter.request("/no-such-page")[0] == 404


def test_landing_page_and_health(ioc, exporter):
    status, headers, body = exporter.request("/")
    page = body.decode()
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    for text in ("ioc_exporter", "/metrics", ioc.name, str(ioc.pid)):
        assert text in page
    for rate in ("processed/s", "puts/s"):  # the first look has them, too
        assert f'<span class="dim">{rate}</span>' in page
    assert exporter.request("/-/healthy")[0] == 200


def test_status_is_the_page_as_text(ioc, exporter):
    url = f"--url=http://127.0.0.1:{exporter.port}"
    done = run_exporter("status", url)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("IOCs\nIOC ", f"\n{ioc.name} ", f" {ioc.pid} ", " processed/s"):
        assert text in done.stdout, done.stdout
    assert run_exporter("status", "--url=http://127.0.0.1:1").returncode == 1
    done = run_exporter("top", url)
    assert (done.returncode, done.stdout) == (2, "") and "ioc_exporter status --watch" in done.stderr


def test_runbooks(exporter):
    """Of this version, as pages, by the names of the alerts."""
    index = exporter.request("/runbooks/")[2].decode()
    assert exporter.request("/runbooks")[::2] == (200, index.encode())
    names = re.findall('<a href="/runbooks/(.*?)">', index)
    assert "EpicsIocDown" in names and len(names) > 30
    for name in names:
        status, headers, body = exporter.request(f"/runbooks/{name}")
        assert status == 200 and headers["content-type"].startswith("text/html"), name
        assert f"<h1>{name}</h1>" in body.decode() and "<h2>Mitigation</h2>" in body.decode(), name
        links = re.findall('<a href="/runbooks/(.*?)">', body.decode())
        assert set(links) <= set(names), f"{name} links to {links}"
    assert exporter.request("/runbooks/EpicsIocDow")[0] == 404


def test_telemetry_path_and_two_addresses(ioc, start_exporter):
    second = free_port()
    exporter = start_exporter(f"--web.listen-address=127.0.0.1:{second}",
                              "--web.telemetry-path=/probe")
    assert exporter.request("/metrics")[0] == 404
    assert exporter.request("/probe")[0] == 200
    assert b"/probe" in exporter.request("/")[2]
    exporter.port = second
    assert exporter.request("/probe")[0] == 200


def test_self_metrics_are_there_from_the_first_scrape(start_exporter):
    scrape = start_exporter().scrape()
    assert scrape.series("ioc_exporter_build_info")
    collectors = {labels["collector"] for labels, _ in
                  scrape.series("ioc_exporter_collector_success")}
    assert {"discovery", "records", "puts"} <= collectors
    assert all(value == 1 for _, value in scrape.series("ioc_exporter_collector_success"))


def test_promtool_finds_nothing(ioc, exporter):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool is not installed (package prometheus)")
    ioc.process_once("S:trigger", 7)
    ioc.put("S:disabled.PROC", 1)
    _, _, body = exporter.request("/metrics")
    result = subprocess.run([promtool, "check", "metrics"], input=body, capture_output=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_once_prints_one_scrape(ioc):
    result = run_exporter("--once=4", f"--ioc.include={ioc.name}")
    assert result.returncode == 0, result.stderr
    scrape = Scrape(result.stdout)
    assert scrape.value("epics_ioc_up", ioc=ioc.name) == 1
    # 10 Hz for four seconds after the attach; a slow machine scans less often.
    assert scrape.count(PROCESSED, ioc=ioc.name, record="S:scan") >= 10


def test_check_prints_a_table(ioc):
    result = run_exporter("--check", f"--ioc.include={ioc.name}")
    assert result.returncode == 0, result
    for text in (ioc.name, str(ioc.pid), "record_process", "ca_tap"):
        assert text in result.stdout


def test_ends_on_signals(start_exporter):
    for number in (signal.SIGTERM, signal.SIGINT):
        exporter = start_exporter()
        exporter.process.popen.send_signal(number)
        assert exporter.process.wait_exit(60) == 0, exporter.process.describe()


def test_a_log_that_nobody_reads_holds_nothing_up(ioc):
    """A pipe that is full: scrapes, the loop and the end go on; lines that had room come when somebody reads."""
    reads, writes = os.pipe()
    with subprocess.Popen([env.exporter_binary(), "--web.listen-address=127.0.0.1:0", f"--ioc.include={ioc.name}"],
                          stdin=subprocess.DEVNULL, stderr=writes) as exporter:
        try:
            begin = b""
            while not (port := re.search(rb"listening on \S*?127\.0\.0\.1:(\d+)", begin)):
                begin += os.read(reads, 4096)
            os.set_blocking(reads, False)
            os.set_blocking(writes, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writes, b"x")
            os.set_blocking(writes, True)  # both ends' flags are the exporter's, too

            def scrape() -> Scrape:
                with urllib.request.urlopen(f"http://127.0.0.1:{int(port[1])}/metrics", timeout=60) as answer:
                    return Scrape(answer.read().decode())

            for number in (signal.SIGUSR1, signal.SIGUSR2) * 3:  # each logs a line
                exporter.send_signal(number)
                wait_until(lambda: scrape().value("ioc_exporter_detached") == (number == signal.SIGUSR1), "it acts")
            ticks = scrape().value("ioc_exporter_loop_ticks_total")
            wait_until(lambda: scrape().value("ioc_exporter_loop_ticks_total") > ticks, "the loop goes on")
            assert scrape().value("ioc_exporter_dropped_total", probe="log", reason="full") == 0
            exporter.send_signal(signal.SIGTERM)
            assert exporter.wait(60) == 0
        finally:
            exporter.kill()
            os.close(writes)
            os.close(reads)


def test_log_in_json(start_exporter):
    exporter = start_exporter("--log.format=json")
    assert exporter.stop() == 0
    lines = exporter.process.stderr().strip().splitlines()
    assert lines
    for line in lines:
        assert isinstance(json.loads(line), dict)


def test_few_descriptors_leave_some_for_scrapes(start_ioc, start_exporter):
    """More IOCs than there are descriptors for: some are watched by packets alone, or not at all, which is told, and each scrape is answered."""
    iocs = [start_ioc(f"crowded-{i}", databases.counting(), macros=f"P=C{i}:") for i in range(20)]
    exporter = start_exporter("--server-probe", sees=iocs[:1], prefix=["prlimit", "--nofile=512:512"])
    exporter.wait_scrape(lambda page: all(page.value("epics_ioc_up", ioc=ioc.name) == 1 for ioc in iocs), "all are found")
    exporter.process.wait_for("Too many open files", "stderr", timeout=60)
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(socket.create_connection(("127.0.0.1", exporter.port))) for _ in range(8)]
        page = exporter.scrape()
        assert page.value("process_max_fds") == 512 and len(waiting) == 8
        assert page.value("epics_ioc_open_fds", ioc=iocs[-1].name) > 0
