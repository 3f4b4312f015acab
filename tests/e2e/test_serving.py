"""The pages: /, /-/healthy, the runbooks; --once, --check, and the ends."""
import contextlib
import json
import re
import signal
import socket

import pytest

from harness import databases
from harness.exporter import run_exporter
from harness.ports import free_port
from harness.scrape import PROCESSED, Scrape


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("served", databases.counting(), macros="P=S:")


@pytest.fixture(scope="module")
def exporter(shared, ioc):
    return shared.exporter(sees=[ioc])


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
