"""IOCs that end, or never start: they stay on the page, with how they ended, also after a restart of the exporter."""
import signal
import subprocess

import pytest

from harness import env
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
UP, EXIT, EXPECTED = "epics_ioc_up", "epics_ioc_last_exit_info", "epics_ioc_expected"
IOCS = ["killed", "exits", "crashes", "headless", "stays"]


def database(prefix):
    return f'record(calc,"{prefix}:n"){{field(CALC,"VAL+1")}}\n'


def exit_of(scrape, ioc):
    return [{key: labels[key] for key in ("reason", "status", "signal")} for labels, _ in scrape.series(EXIT, ioc=ioc)]


def command(*arguments):
    return subprocess.run([env.exporter_binary(), "iocs", *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def options(tmp_path):
    """As the service runs it, but that an IOC need not run for ten minutes."""
    expected = tmp_path / "expected.txt"
    expected.write_text("stays  # on this host\nnever-started\nelsewhere-1\n")
    return [f"--ioc.include={'|'.join(IOCS)}|late", f"--state.directory={tmp_path}/state", "--ioc.remember-after=0s",
            "--ioc.keep-gone=1s", f"--ioc.expected-file={expected}", "--ioc.expected-match=(?:[^e].*)"]


def test_the_dead_stay_dead(start_ioc, start_exporter, options, tmp_path):
    state = tmp_path / "state"
    iocs = {name: start_ioc(name, database(name), base="7.0.7" if name == "headless" else env.PYTHON_BASE) for name in IOCS}
    iocs["headless"].shell("@exitMain")
    exporter = start_exporter(*options, sees=list(iocs.values()))
    scrape = exporter.scrape()
    assert [labels["ioc"] for labels, _ in scrape.series(EXPECTED)] == ["never-started", "stays"]
    assert scrape.series(UP, ioc="never-started") == [], "what was never seen is not known to be down"
    assert scrape.series(EXIT) == []

    iocs["killed"].process.popen.send_signal(signal.SIGKILL)
    iocs["crashes"].process.popen.send_signal(signal.SIGSEGV)
    iocs["headless"].process.popen.send_signal(signal.SIGTERM)
    iocs["exits"].process.send_line("@exit 7")
    assert iocs["exits"].process.wait_exit() == 7
    # Also long after --ioc.keep-gone.
    scrape = exporter.wait_scrape(
        lambda s: all(s.value(UP, ioc=ioc) == 0 and exit_of(s, ioc) and not s.series("epics_ioc_restarts_total", ioc=ioc)
                      for ioc in IOCS[:4]), "four have ended, and all else of them has left")
    assert exit_of(scrape, "killed") == [{"reason": "signal", "status": "", "signal": "SIGKILL"}]
    assert exit_of(scrape, "exits") == [{"reason": "exit", "status": "7", "signal": ""}]
    assert exit_of(scrape, "headless") == [{"reason": "signal", "status": "", "signal": "SIGTERM"}]
    [crash] = exit_of(scrape, "crashes")
    assert crash["signal"] == "SIGSEGV" and crash["reason"] in ("signal", "core_dump")
    assert scrape.value("ioc_exporter_probe_loaded", probe="ioc_exit") == 1
    page = exporter.request("/")[2].decode()
    assert "exit status 7" in page and "never-started" in page

    # It remembers over a restart, and what ended meanwhile is down, too.
    wait_until(lambda: "killed" in "".join(file.read_text() for file in state.glob("seen-iocs.*")), "they are kept")
    assert {oct(file.stat().st_mode)[-3:] for file in state.glob("*")} == {"640"}
    wait_until(lambda: command("forget", f"--state={state}", "killed").returncode == 0, "killed is noted")
    exporter.wait_scrape(lambda s: not s.series(UP, ioc="killed"), "killed is forgotten")
    wait_until(lambda: any("exits" in (text := file.read_text()) and "killed" not in text
                           for file in state.glob("seen-iocs.*")), "that is kept")
    exporter.stop()
    iocs["stays"].kill()
    again = start_exporter(*options)
    scrape = again.scrape()
    assert {labels["ioc"]: value for labels, value in scrape.series(UP)} == {"exits": 0, "crashes": 0, "headless": 0, "stays": 0}
    assert exit_of(scrape, "exits") == [{"reason": "exit", "status": "7", "signal": ""}]
    assert exit_of(scrape, "stays") == [], "nobody saw how"

    # One that comes again is up, and not remembered as gone.
    back = start_ioc("exits", database("exits"), port=iocs["exits"].port)
    scrape = again.wait_up(back)
    assert [value for _, value in scrape.series(UP, ioc="exits")] == [1]
    listed = command("learn", f"--url=http://127.0.0.1:{again.port}")
    assert listed.returncode == 0, listed.stderr
    assert '    - "exits"  # of user root' in listed.stdout and "crashes" not in listed.stdout
    wait_until(lambda: command("forget", f"--state={state}", "exits").returncode == 3, "that it runs is kept")
    assert again.scrape().value(UP, ioc="exits") == 1
    assert command("forget", f"--state={state}", "nobody").returncode == 3


def test_files_that_are_broken(start_exporter, options, tmp_path):
    """A clear word, an empty list, and it goes on."""
    state = tmp_path / "state"
    state.mkdir(mode=0o750)
    for name in ("seen-iocs.1", "seen-iocs.2"):
        (state / name).write_text("ioc_exporter: IOCs that were seen, format 1\ngeneration 3\nhalf a li")
    exporter = start_exporter(*options)
    exporter.process.wait_for("seen-iocs.[12]: line 3: no seen IOC: this file is ignored", "stderr")
    assert exporter.scrape().series(UP) == []
    assert exporter.scrape().value("ioc_exporter_state_failures_total", state="iocs", operation="read") == 1
    exporter.stop()

    state.chmod(0o777)  # anybody may put files there
    exporter = start_exporter(*options)
    exporter.process.wait_for("others than its owner may write to it", "stderr")
    assert exporter.scrape().value("ioc_exporter_state_failures_total", state="iocs", operation="open") == 1
    assert exporter.scrape().series(EXPECTED) != []
    # What is expected is read again with the configuration.
    (tmp_path / "expected.txt").write_text("late\nelsewhere-1\n")
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.wait_scrape(lambda s: [labels["ioc"] for labels, _ in s.series(EXPECTED)] == ["late"], "late is expected now")
    (tmp_path / "expected.txt").write_text("late\na\x01b\n")
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.process.wait_for("expected.txt: line 2: no name of an IOC", "stderr")
    assert [labels["ioc"] for labels, _ in exporter.scrape().series(EXPECTED)] == ["late"], "what was in force stays"
