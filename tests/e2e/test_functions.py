"""Functions of a driver that a real IOC has loaded, described in the site's file: exact counts, reload."""
import signal
import time

import pytest

from harness.driver import Driver

EXPORTER_OPTIONS = ["--no-collector.records"]
CALLS, FAILURES, WATCHED = "epics_function_calls_total", "epics_function_failures_total", "epics_function_watched"
DURATIONS = "epics_function_duration_seconds_count"
SITE = r"""
functions:
  - name: write
    file: '.*/libtest_driver\.so'
    symbol: driver_write
    timed: true
    labels:
      port: arg0+8 -> string[32]
      reason: arg1 -> int
      device: '[[arg0-32]+16] -> string[64]'
    result: return -> int
  - {name: status, file: '.*/libtest_driver\.so', symbol: driver_status, timed: true,
     result: 'return -> enum[ok, late]'}
  - {name: queued, file: '.*/libtest_driver\.so', symbol: driver_queue, key: arg0}
  - {name: started, file: '.*/libtest_driver\.so', symbol: driver_start, key: arg0, since: queued}
  - {name: state, file: '.*/libtest_driver\.so', symbol: 'driver_state_*',
     labels: {state: 'symbol -> match[driver_state_(.*)]'}}
  - {name: set, file: '.*/libtest_driver\.so', symbol: 'driver::Port::setValue(int)'}
  - {name: read, file: '.*/libtest_driver\.so', symbol: 'driver::Port::read', timed: true}
  - {name: submit, file: '.*/libtest_driver\.so', symbol: driver_submit}
  - {name: process, file: '.*/libtest_driver\.so', symbol: {pointer: '[arg0+32]', of: submit}}
  - {name: missing, file: '.*/libtest_driver\.so', symbol: driver_wrote}
  - {name: elsewhere, file: '.*/libtest_driver\.so', symbol: {offset: 4096, build_id: 0011223344556677}}
"""


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.yml"
    path.write_text(SITE)
    return path


@pytest.fixture
def driver(start_ioc, tmp_path):
    return Driver(start_ioc, tmp_path, "functions")


@pytest.fixture
def exporter(start_exporter, driver, site):
    exporter = start_exporter(f"--config.file={site}", sees=[driver.ioc])
    exporter.wait_scrape(lambda s: s.value(WATCHED, ioc="functions", function="write") == 1, "the driver is watched")
    return exporter


def test_calls_are_counted_exactly(driver, exporter):
    driver.call("write", 23, 4, "P1", "/dev/a")
    driver.call("write", 29, -4, "P1", "/dev/a")
    driver.call("write", 31, 4, "P2", "/dev/b")
    driver.call("status", 30, 100)
    driver.call("pairs", 17, 1000)
    driver.call("states", 12)
    driver.call("cxx", 19, 3)
    driver.call("real", 7)
    driver.call("throw", 40)
    driver.call("submit", 5)
    scrape = exporter.wait_scrape(lambda s: s.count(CALLS, function="submit") == 5, "all orders are done")
    assert scrape.count(CALLS, ioc="functions", function="write", port="P1", reason="4", device="/dev/a") == 23
    assert scrape.count(CALLS, function="write", port="P1", reason="-4", device="/dev/a") == 29
    assert scrape.count(CALLS, function="write", port="P2", reason="4", device="/dev/b") == 31
    assert [(labels["result"], value) for labels, value in scrape.series(FAILURES, function="write")] == [("-1", 29)]
    assert scrape.total(DURATIONS, function="write") == 83
    assert {labels["result"]: value for labels, value in scrape.series(FAILURES, function="status")} == {"late": 10, "2": 10}
    assert scrape.count(DURATIONS, function="status") == 30
    assert scrape.value("epics_function_duration_seconds_sum", function="status") >= 30 * 100e-6
    assert scrape.count(DURATIONS, function="started") == 17
    assert scrape.value("epics_function_duration_seconds_sum", function="started") >= 17 * 1e-3
    assert {labels["state"]: value for labels, value in scrape.series(CALLS, function="state")} == {"idle": 12, "busy": 6}
    assert scrape.count(CALLS, function="set") == 19
    assert (scrape.count(CALLS, function="read"), scrape.count(DURATIONS, function="read")) == (60, 40)
    # What a pointer leads to is attached to once it was seen.
    exporter.wait_scrape(lambda s: s.value(WATCHED, function="process") == 1, "the pointer is followed")
    driver.call("submit", 23)
    scrape = exporter.wait_scrape(lambda s: s.count(CALLS, function="submit") == 28, "the rest is done")
    assert scrape.count(CALLS, function="process") == 23
    lost = {labels["reason"]: value for labels, value in scrape.series("ioc_exporter_dropped_total", probe="functions") if value}
    assert lost == {}
    exporter.wait_scrape(lambda s: s.value("ioc_exporter_ioc_overhead_seconds_total", ioc="functions", probe="functions"),
                         "what they cost")


def test_the_file_is_read_again(driver, exporter, site):
    driver.call("states", 3)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="state", state="idle") == 3, "counted as before")
    site.write_text(SITE.replace("name: state,", "name: mode,"))
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.wait_scrape(lambda s: s.value(WATCHED, function="mode") == 1 and s.series(CALLS, function="state") == [],
                         "it has another name now")
    driver.call("states", 5)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="mode", state="idle") == 5, "counted under it")
    site.write_text(SITE.replace("arg1 -> int", "arg9 -> int"))
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.process.wait_for(r"site\.yml:9:15: functions\[0\]\.labels\.reason: .*there is no arg9", "stderr")
    driver.call("states", 2)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="mode", state="idle") == 7, "what was in force stays")


def test_the_first_descriptions_need_no_restart(driver, start_exporter, site):
    site.write_text("")
    exporter = start_exporter(f"--config.file={site}", "--functions.presets=none", sees=[driver.ioc])
    assert exporter.scrape().series("ioc_exporter_collector_success", collector="functions") == []
    site.write_text(SITE)
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.wait_scrape(lambda s: s.value(WATCHED, ioc="functions", function="state") == 1, "the driver is watched")
    driver.call("states", 23)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="state", state="idle") == 23, "each call is counted")


def test_counts_go_on_when_the_ioc_is_restarted(driver, exporter, start_ioc, tmp_path):
    driver.call("states", 11)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="state", state="idle") == 11, "counted")
    driver.ioc.process.kill()
    (tmp_path / "functions.orders").unlink()
    again = Driver(start_ioc, tmp_path, "functions")
    exporter.wait_scrape(lambda s: s.value("epics_ioc_info", ioc="functions", pid=str(again.ioc.pid)) == 1, "it is back")
    exporter.wait_scrape(lambda s: s.value(WATCHED, ioc="functions", function="state") == 1, "and watched")
    again.call("states", 12)
    exporter.wait_scrape(lambda s: s.count(CALLS, function="state", state="idle") == 23, "counted on")


def test_reloads_while_files_are_searched(start_exporter, driver, site):
    """A search that began before a reload knows the former descriptions by number: its result is not used."""
    many = "functions:\n" + "".join(f"  - {{name: f{i}, file: '.*', symbol: 'none{i}_*'}}\n" for i in range(200)) + \
        "  - {name: last, file: '.*/libtest_driver.so', symbol: driver_write}\n"
    one = "functions:\n  - {name: only, file: '.*/libtest_driver.so', symbol: driver_status}\n"
    site.write_text(many)
    exporter = start_exporter(f"--config.file={site}", sees=[driver.ioc])
    exporter.wait_scrape(lambda s: s.value(WATCHED, function="last") == 1, "the last is watched")
    for i in range(12):
        site.write_text(one if i % 2 == 0 else many)
        exporter.process.popen.send_signal(signal.SIGHUP)
        time.sleep(0.1 + (i % 6) * 0.15)
        assert exporter.process.popen.poll() is None
    exporter.wait_scrape(lambda s: s.value(WATCHED, function="last") == 1, "the last is watched again")
    driver.call("write", 23, 4, "P1", "/dev/a")
    exporter.wait_scrape(lambda s: s.value(CALLS, ioc="functions", function="last") == 23, "each call is counted once")
