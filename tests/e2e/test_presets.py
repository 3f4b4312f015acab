"""What the presets measure of community modules, with libraries that look as these do (tests/tools/modules), and with
the same libraries whose fields stand elsewhere: of those nothing is told, and never a wrong name."""
import re
import time

import pytest

from harness import databases, env, modules

# Those of the modules are wanted alone.
EXPORTER_OPTIONS = ["--no-collector.records"]
CALL, WAIT = "epics_asyn_call_duration_seconds", "epics_asyn_queue_wait_seconds"
SINCE_1990 = 631152000


@pytest.fixture(scope="module")
def ioc(shared):
    return modules.start(shared.ioc, "presets", databases.put_targets("M:", 2))


@pytest.fixture(scope="module")
def shifted(shared):
    return modules.start(shared.ioc, "shifted_presets", databases.put_targets("S:", 2), "shifted_modules")


@pytest.fixture(scope="module")
def older(shared):
    return modules.start(shared.ioc, "older_presets", databases.put_targets("O:", 2), "older_modules")


@pytest.fixture(scope="module")
def plain(shared):
    return modules.start(shared.ioc, "no_presets", databases.put_targets("N:", 2), None)


@pytest.fixture(scope="module")
def exporter(shared, ioc, shifted, older, plain):
    for one in (ioc, shifted, older):
        one.shell("asynPort L0 1 1 3")
        one.shell("asynPort L1 0 1 2")
        one.shell("seqStart example")
        one.shell("saveSet auto_settings.sav 4 0 1000000000")
        one.shell("caPutLogServer log1:7011 1 3")
    exporter = shared.exporter("--functions.presets=auto,iocsh")
    exporter.wait_scrape(lambda page: watched(page, ioc.name) == watched(page, shifted.name) == watched(page, older.name) >= {
        "asyn_request", "asyn_queue_timeout", "stream_start", "stream_exchange", "seq_transition", "autosave_save",
        "plugin_offered", "plugin_processed", "caputlog_put", "caputlog_line", "caputlog_json_put",
        "caputlog_json_line", "iocsh_command"}, "all presets are used")
    return exporter


def watched(page, ioc: str) -> set[str]:
    return {labels["function"] for labels, value in page.series("epics_function_watched", ioc=ioc) if value == 1}


def values(page, name: str, ioc: str, *labels: str) -> dict:
    """By the values of these labels."""
    return {tuple(found[label] for label in labels): value for found, value in page.series(name, ioc=ioc)}


def families_of(page, ioc: str) -> set[str]:
    """Families of presets that have a series of this IOC."""
    return {name for name in page.families if re.match("epics_(asyn|stream|seq|autosave|areadetector|caputlog)_", name)
            for labels in (sample.labels for sample in page.families[name].samples) if labels["ioc"] == ioc}


def scrape(exporter):
    """After others: a scrape has 100 ms for lists in memory, and on a busy host some follow with the next ones."""
    for _ in range(3):
        exporter.scrape()
    return exporter.scrape()


def test_an_ioc_without_the_libraries_has_none(exporter, plain):
    page = scrape(exporter)
    assert families_of(page, plain.name) == set() and watched(page, plain.name) == {"iocsh_command"}


def test_requests_to_ports(exporter, ioc):
    ioc.shell("asynRequests L0 23 0")
    ioc.shell("asynRequests L1 5 0")
    ioc.shell("gpibRequests 7")  # functions with the same names
    ioc.shell("asynTimeouts L0 3")
    page = scrape(exporter)
    assert values(page, "epics_asyn_requests_total", ioc.name, "port") == {("L0",): 23, ("L1",): 5}
    assert values(page, "epics_asyn_request_failures_total", ioc.name, "port", "result") == {("L1", "disconnected"): 5}
    assert values(page, "epics_asyn_queue_timeouts_total", ioc.name, "port") == {("L0",): 3}


def test_times_of_requests(exporter, ioc):
    """The function that a request leads to is known with the first one."""
    ioc.shell("asynRequests L0 1 0")
    exporter.wait_scrape(lambda page: watched(page, ioc.name) >= {"asyn_call", "asyn_queue_wait"}, "calls are timed")
    before = scrape(exporter)
    ioc.shell("asynRequests L0 23 2000")
    page = scrape(exporter)
    for name in (CALL, WAIT):
        def grown(suffix):
            return page.value(name + suffix, ioc=ioc.name, port="L0") - (
                before.value(name + suffix, ioc=ioc.name, port="L0") or 0)
        assert grown("_count") == 23
        assert 0.046 <= grown("_sum") < 40
    assert [labels["port"] for labels, _ in page.series(CALL + "_count", ioc=ioc.name)] == ["L0"]


def test_ports(exporter, ioc):
    for priority, count in enumerate((2, 0, 5, 1)):
        ioc.shell(f"asynQueue L0 {priority} {count}")
    page = scrape(exporter)
    assert values(page, "epics_asyn_connected", ioc.name, "port") == {("L0",): 1, ("L1",): 0}
    assert values(page, "epics_asyn_enabled", ioc.name, "port") == {("L0",): 1, ("L1",): 1}
    assert values(page, "epics_asyn_connects_total", ioc.name, "port") == {("L0",): 3, ("L1",): 2}
    queued = values(page, "epics_asyn_queued_requests", ioc.name, "port", "priority")
    assert {key: value for key, value in queued.items() if value} == {
        ("L0", "low"): 2, ("L0", "high"): 5, ("L0", "connect"): 1}
    assert len(queued) == 8
    ioc.shell("asynPort L1 1 0 4")
    page = scrape(exporter)
    assert page.value("epics_asyn_connected", ioc=ioc.name, port="L1") == 1
    assert page.value("epics_asyn_enabled", ioc=ioc.name, port="L1") == 0
    assert page.value("epics_asyn_connects_total", ioc=ioc.name, port="L1") == 4


def test_ports_of_older_versions(exporter, older):
    older.shell("asynQueue L0 1 5")
    older.shell("asynRequests L0 23 0")
    older.shell("asynRequests L1 5 0")
    page = scrape(exporter)
    assert values(page, "epics_asyn_connected", older.name, "port") == {("L0",): 1, ("L1",): 0}
    assert values(page, "epics_asyn_enabled", older.name, "port") == {("L0",): 1, ("L1",): 1}
    assert values(page, "epics_asyn_connects_total", older.name, "port") == {("L0",): 3, ("L1",): 2}
    queued = values(page, "epics_asyn_queued_requests", older.name, "port", "priority")
    assert {key: value for key, value in queued.items() if value} == {("L0", "medium"): 5}
    assert values(page, "epics_asyn_requests_total", older.name, "port") == {("L0",): 23, ("L1",): 5}


def test_exchanges_of_records(exporter, ioc):
    results = {"success": (0, 23), "lock_timeout": (1, 2), "reply_timeout": (3, 5), "mismatch": (5, 7), "offline": (9, 1)}
    for number, count in results.values():
        ioc.shell(f"streamExchanges M:set1 {count} {number} 0")
    ioc.shell("streamExchanges M:set2 11 0 2000")
    ioc.shell("streamExchanges no:such:record 3 0 0")
    page = scrape(exporter)
    expected = {("M:set1", result): count for result, (_, count) in results.items()}
    expected |= {("M:set2", "success"): 11, ("", "success"): 3}
    assert values(page, "epics_stream_exchanges_total", ioc.name, "record", "result") == expected
    duration = "epics_stream_exchange_duration_seconds"
    assert page.value(duration + "_count", ioc=ioc.name, record="M:set2") == 11
    assert 0.022 <= page.value(duration + "_sum", ioc=ioc.name, record="M:set2") < 20
    assert page.value(duration + "_count", ioc=ioc.name, record="M:set1") == 38


def test_states_and_transitions(exporter, ioc):
    def states(page):
        return values(page, "epics_seq_state_info", ioc.name, "program", "state_set", "state")
    page = scrape(exporter)
    rest = {("example", "level_det", "idle"): 1, ("example", "pump_2_valve", "open"): 1}
    assert states(page) == {("example", "light", "off"): 1, **rest}
    assert page.series("epics_seq_state_entered_timestamp_seconds") == []  # they were never entered
    ioc.shell("seqTransitions example 23")
    ioc.shell("seqPumps example 5")  # the function's name would tell the state as valve_2_open
    ioc.shell("seqEnter example 1000000000")
    page = scrape(exporter)
    assert states(page) == {("example", "light", "on"): 1, **rest}
    assert values(page, "epics_seq_transitions_total", ioc.name, "program", "program_instance", "state_set", "state") == {
        ("example", "0", "light", "off"): 12, ("example", "0", "light", "on"): 11,
        ("example", "0", "pump_2_valve", ""): 5, **idle(page, ioc)}
    assert set(values(page, "epics_seq_state_entered_timestamp_seconds", ioc.name, "program", "state_set").items()) == {
        (("example", name), SINCE_1990 + 1e9) for name in ("light", "level_det", "pump_2_valve")}


def idle(page, ioc) -> dict:
    """Of functions that nobody has called yet, where they are shown."""
    return {key: 0 for key in values(page, "epics_seq_transitions_total", ioc.name, "program", "program_instance", "state_set",
                                     "state") if key[3] == "idle"}


def test_save_sets(exporter, ioc):
    ioc.shell("saveSet auto_settings.sav 4 0 1000000000")
    ioc.shell("saveSet auto_positions.sav 2 3 1000000017")
    scrape(exporter)
    ioc.shell("saveFiles auto_settings.sav 23 4")
    ioc.shell("saveFiles auto_positions.sav 5 0")
    page = scrape(exporter)
    of = lambda name: {key[0]: value for key, value in values(page, f"epics_autosave_{name}", ioc.name, "file").items()}
    settings, positions = "auto_settings.sav", "auto_positions.sav"
    assert of("saves_total") == {settings: 27, positions: 5}
    assert values(page, "epics_autosave_save_failures_total", ioc.name, "file", "result") == {(settings, "failed"): 4}
    assert of("status") == {settings: 4, positions: 2}
    assert of("unconnected_pvs") == {settings: 0, positions: 3}
    assert of("last_save_timestamp_seconds") == {settings: SINCE_1990 + 1e9, positions: SINCE_1990 + 1e9 + 17}


def test_frames_of_plugins(exporter, ioc):
    scrape(exporter)  # names of plugins are those of ports
    ioc.shell("pluginFrames L0 23 17")
    ioc.shell("pluginFrames NOPORT 2 1")
    page = scrape(exporter)
    of = lambda name: values(page, f"epics_areadetector_frames_{name}_total", ioc.name, "port")
    assert of("offered") == {("L0",): 23, ("",): 2}
    assert of("processed") == {("L0",): 17, ("",): 1}


def test_what_caputlog_sends(exporter, ioc):
    ioc.shell("caPutLogServer log2:7012 0 0")
    ioc.shell("caPutLogPuts 23 17 5 3")
    before = scrape(exporter)
    ioc.shell("caPutJsonLogServer log3:7011 1 2")
    page = scrape(exporter)
    of = lambda name, *labels: values(page, f"epics_caputlog_{name}", ioc.name, *labels)
    assert (of("puts_total"), of("lines_total"), of("json_puts_total")) == ({(): 23}, {(): 17}, {(): 5})
    assert of("json_lines_total") == {(): 3}
    assert not before.series("epics_caputlog_json_server_connected")
    assert of("json_server_connected", "server") == {("log3:7011",): 1}
    assert of("json_server_connects_total", "server") == {("log3:7011",): 2}
    assert of("server_connected", "server") == {("log1:7011",): 1, ("log2:7012",): 0}
    assert of("server_connects_total", "server") == {("log1:7011",): 3, ("log2:7012",): 0}


@pytest.mark.parametrize("version", [env.PYTHON_BASE, "7.0.4"])
def test_commands_of_the_shell(start_ioc, start_exporter, version):
    """The first word of a line may be a password: they are counted, and not named."""
    def commands() -> float:
        page = scrape(exporter)
        assert "dbgf" not in page.text
        return page.value("epics_iocsh_commands_total", ioc=ioc.name) or 0

    ioc = start_ioc(f"shell_{version}", databases.put_targets("C:", 1), base=version, lib_dir=env.base_dir(version) / "lib")
    exporter = start_exporter("--functions.presets=iocsh")
    exporter.wait_scrape(lambda page: watched(page, ioc.name) == {"iocsh_command"}, "commands are counted")
    before = commands()
    for _ in range(23):
        ioc.shell("  dbgf C:set1")
    ioc.shell("# dbgf C:set1")
    assert commands() - before == 23


def test_of_a_shifted_library_nothing_is_told(exporter, shifted):
    for port in ("L0", "L1"):
        shifted.shell(f"asynRequests {port} 7 0")
        shifted.shell(f"asynTimeouts {port} 7")
        shifted.shell(f"pluginFrames {port} 7 7")
    shifted.shell("asynQueue L0 1 5")
    shifted.shell("streamExchanges S:set1 7 0 0")
    shifted.shell("seqTransitions example 7")
    shifted.shell("seqEnter example 1000000000")
    shifted.shell("saveFiles auto_settings.sav 7 7")
    shifted.shell("caPutLogPuts 7 7 7")
    page = scrape(exporter)
    for name in families_of(page, shifted.name):
        for sample in page.families[name].samples:
            names = {label: value for label, value in sample.labels.items() if label not in ("ioc", "result", "le")}
            if sample.labels["ioc"] == shifted.name:
                assert not any(names.values()), sample
    values_of_memory = {"epics_asyn_connected", "epics_asyn_enabled", "epics_asyn_connects", "epics_asyn_queued_requests",
                        "epics_seq_state_info", "epics_seq_state_entered_timestamp_seconds", "epics_autosave_status",
                        "epics_caputlog_server_connected", "epics_caputlog_server_connects",
                        "epics_autosave_unconnected_pvs", "epics_autosave_last_save_timestamp_seconds"}
    assert families_of(page, shifted.name) & values_of_memory == set()
    assert page.total("epics_asyn_requests_total", ioc=shifted.name, port="") >= 7
    _, _, body = exporter.request("/")
    assert "absent" in body.decode()


def test_nothing_is_loaded_until_an_ioc_has_a_module(start_ioc, start_exporter):
    """Presets are on by default."""
    ioc = modules.start(start_ioc, "late_module", databases.put_targets("L:", 1), None)
    exporter = start_exporter("--ioc.include=late_module")
    exporter.wait_scrape(lambda page: page.value("epics_ioc_up", ioc=ioc.name) == 1, "it is found")
    time.sleep(3)  # its files are looked at
    page = scrape(exporter)
    assert page.value("ioc_exporter_collector_success", collector="functions") == 1
    assert page.series("ioc_exporter_probe_loaded", probe="functions") == []
    modules.load(ioc, "stream")
    exporter.wait_scrape(lambda page: watched(page, ioc.name) == {"stream_start", "stream_exchange"}, "it is used")
    ioc.shell("streamExchanges L:set1 23 0 0")
    page = scrape(exporter)
    assert page.value("ioc_exporter_probe_loaded", probe="functions") == 1
    assert values(page, "epics_stream_exchanges_total", ioc.name, "record", "result") == {("L:set1", "success"): 23}
