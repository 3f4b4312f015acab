"""IOCs that end, or never start: they stay on the page, with how they ended."""
import signal
import subprocess

import pytest

from harness import databases, env

EXPORTER_OPTIONS = ["--no-collector.records"]
BOTH_PUT_SOURCES = True
UP, EXIT, EXPECTED = "epics_ioc_up", "epics_ioc_last_exit_info", "epics_ioc_expected"
IOCS = ["killed", "exits", "crashes", "headless", "unharmed"]


def exit_of(scrape, ioc):
    return [{key: labels[key] for key in ("reason", "status", "signal")} for labels, _ in scrape.series(EXIT, ioc=ioc)]


def command(*arguments):
    return subprocess.run([env.exporter_binary(), "iocs", *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def options(tmp_path):
    expected = tmp_path / "expected.txt"
    expected.write_text("unharmed  # on this host\nnever-started\nelsewhere-1\n")
    return [f"--ioc.include={'|'.join(IOCS)}|late", f"--set=iocs.expected_file={expected}", "--set=iocs.expected_match=(?:[^e].*)"]


def test_the_dead_stay_dead(start_ioc, start_exporter, options):
    iocs = {name: start_ioc(name, databases.counter(name), base="7.0.7" if name == "headless" else env.PYTHON_BASE)
            for name in IOCS}
    iocs["headless"].shell("@exitMain")
    exporter = start_exporter(*options, sees=list(iocs.values()))
    scrape = exporter.scrape()
    assert [labels["ioc"] for labels, _ in scrape.series(EXPECTED)] == ["never-started", "unharmed"]
    assert scrape.series(UP, ioc="never-started") == [], "what was never seen is not known to be down"
    assert scrape.series(EXIT) == []

    iocs["killed"].process.popen.send_signal(signal.SIGKILL)
    iocs["crashes"].process.popen.send_signal(signal.SIGSEGV)
    iocs["headless"].process.popen.send_signal(signal.SIGTERM)
    iocs["exits"].process.send_line("@exit 7")
    assert iocs["exits"].process.wait_exit() == 7
    scrape = exporter.wait_scrape(lambda s: all(s.value(UP, ioc=ioc) == 0 and exit_of(s, ioc) for ioc in IOCS[:4]),
                                  "four have ended")
    assert scrape.value(UP, ioc="unharmed") == 1
    assert exit_of(scrape, "killed") == [{"reason": "signal", "status": "", "signal": "SIGKILL"}]
    assert exit_of(scrape, "exits") == [{"reason": "exit", "status": "7", "signal": ""}]
    assert exit_of(scrape, "headless") == [{"reason": "signal", "status": "", "signal": "SIGTERM"}]
    [crash] = exit_of(scrape, "crashes")
    assert crash["signal"] == "SIGSEGV" and crash["reason"] in ("signal", "core_dump")
    assert scrape.value("ioc_exporter_probe_loaded", probe="ioc_exit") == 1
    page = exporter.request("/")[2].decode()
    assert "exit status 7" in page and "never-started" in page

    # One that comes again is up.
    back = start_ioc("exits", databases.counter("exits"), port=iocs["exits"].port)
    scrape = exporter.wait_up(back)
    assert [value for _, value in scrape.series(UP, ioc="exits")] == [1]
    assert scrape.value("epics_ioc_restarts_total", ioc="exits") == 1
    listed = command("learn", f"--url=http://127.0.0.1:{exporter.port}")
    assert listed.returncode == 0, listed.stderr
    assert '    - "exits"  # of user root' in listed.stdout and "crashes" not in listed.stdout


def test_expected_iocs_are_read_again(start_exporter, options, tmp_path):
    exporter = start_exporter(*options)
    assert exporter.scrape().series(EXPECTED) != []
    (tmp_path / "expected.txt").write_text("late\nelsewhere-1\n")
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.wait_scrape(lambda s: [labels["ioc"] for labels, _ in s.series(EXPECTED)] == ["late"], "late is expected now")
    (tmp_path / "expected.txt").write_text("late\na\x01b\n")
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.process.wait_for("expected.txt: line 2: no name of an IOC", "stderr")
    assert [labels["ioc"] for labels, _ in exporter.scrape().series(EXPECTED)] == ["late"], "what was in force stays"
