"""The unit that the packages install, under a real systemd: it starts, hangs, is restarted, reloaded and stopped as
systemd does it, and the counts are exact."""
import re
import shutil

import pytest

import machine
from harness.scrape import PROCESSED, PUTS, Scrape
from systemd_host import FILES, OUR_UNIT_DIR, new_host

KERNEL = "6.1"
CALLS, WRITES, NOTIFIES, AFTER, LAST = 23, 101, 13, 19, 29
# linux/capability.h: those that the exporter itself keeps, and those that the unit gives. The set that bounds them
# cannot be made smaller without CAP_SETPCAP; as no program is run, nothing is taken from it.
DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN, PERFMON, BPF, CHECKPOINT_RESTORE = 2, 13, 19, 21, 38, 39, 40
KEPT = [DAC_READ_SEARCH, SYS_PTRACE, BPF, CHECKPOINT_RESTORE]
CAPABILITIES, BOUND = (f"{sum(1 << c for c in caps):016x}" for caps in (KEPT, [*KEPT, NET_RAW, PERFMON, SYS_ADMIN]))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """All of it happens in one machine; the tests look at what it told."""
    kernel = machine.kernel_of(KERNEL)
    directory = tmp_path_factory.mktemp("systemd")
    tree = new_host(directory / "root", [FILES / "driver.service"])
    tree.add(FILES / "test.conf", f"{OUR_UNIT_DIR}/ioc_exporter.service.d/test.conf", 0o644)
    counts = {"CALLS": CALLS, "WRITES": WRITES, "NOTIFIES": NOTIFIES, "AFTER": AFTER, "LAST": LAST}
    tree.add_script("systemd/driver.sh", "/driver.sh", counts)
    try:
        return machine.boot(kernel, tree.pack(directory / "initramfs.cpio"), directory)
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def facts(told):
    machine.show(told)
    return told


def properties(text: str) -> dict[str, str]:
    """Of systemctl show, or of a file in /proc: one name and its value a line."""
    return dict(re.split(r"=|:\s*", line, maxsplit=1) for line in text.splitlines())


def puts(scrape: Scrape) -> dict[str, float]:
    """All there are, which must be of the one client, by operation."""
    client = {"ioc": "vm-ioc", "pv": "VM:set", "client": "127.0.0.1", "user": "root"}
    ours = {labels["op"]: value for labels, value in scrape.series(PUTS, **client)}
    assert scrape.total(PUTS) == sum(ours.values())
    return {op: value for op, value in ours.items() if value}


def processed(scrape: Scrape) -> float:
    return scrape.value(PROCESSED, ioc="vm-ioc", record="VM:count")


def all_work(scrape: Scrape) -> bool:
    """Nothing that the unit takes away is missed."""
    parts = [part for name in ("ioc_exporter_probe_loaded", "ioc_exporter_collector_success",
                               "epics_ioc_records_watched") for part in scrape.series(name)]
    assert len(parts) > 3
    return all(value == 1 for _, value in parts)


def test_starts_as_installed(facts):
    assert facts["start"].split() == ["0"]
    assert properties(facts["started"]) == {
        "ActiveState": "active", "SubState": "running", "Result": "success", "NRestarts": "0",
        "StatusText": "1 IOC; ca_tap, ca_udp, ca_server_probe, pva_server_probe, record_process"}
    process, user = properties(facts["process"]), facts["user"].split(":")
    assert user[0] == "ioc_exporter"
    assert process["Uid"].split() == [user[2]] * 4
    assert process["Gid"].split() == [user[3]] * 4
    assert {name: process[name] for name in process if name.startswith("Cap")} == {
        "CapInh": f"{0:016x}", "CapAmb": f"{0:016x}", "CapPrm": CAPABILITIES, "CapEff": CAPABILITIES,
        "CapBnd": BOUND}
    assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")
    assert facts["home"].split() == ["0"]  # where the IOC's files are
    assert facts["state"].splitlines() == ["/var/lib/ioc_exporter/channels ioc_exporter 640"]


def test_counts_exactly(facts):
    scrape = Scrape(facts["metrics"])
    assert processed(scrape) == CALLS + WRITES + NOTIFIES
    assert scrape.value(PROCESSED, ioc="vm-ioc", record="VM:set") == WRITES + NOTIFIES
    assert puts(scrape) == {"write": WRITES, "write_notify": NOTIFIES}
    assert all_work(scrape)
    for labels, dropped in scrape.series("ioc_exporter_dropped_total"):
        assert dropped == 0, labels


def test_watchdog_ends_a_hung_one_and_the_next_counts(facts):
    assert properties(facts["revived"]) == {
        "ActiveState": "active", "SubState": "running", "NRestarts": "1",
        "StatusText": "1 IOC; ca_tap, ca_udp, ca_server_probe, pva_server_probe, record_process"}
    scrape = Scrape(facts["revived_metrics"])
    assert processed(scrape) == AFTER
    assert puts(scrape) == {"write": AFTER}
    assert all_work(scrape)


def test_goes_on_with_options_and_reloads(facts):
    assert facts["restart"].split() == ["0"]
    assert facts["reload"].split() == ["0"]
    assert properties(facts["reloaded"]) == {
        "ActiveState": "active", "SubState": "running", "Result": "success",
        "StatusText": "1 IOC; ca_tap, ca_udp, ca_server_probe, pva_server_probe, record_process"}
    scrape = Scrape(facts["reloaded_metrics"])
    assert scrape.value("ioc_exporter_config_last_reload_successful") == 1
    assert processed(scrape) == LAST
    assert scrape.value(PROCESSED, ioc="vm-ioc", record_group="after") is not None
    assert puts(scrape) == {"write_notify": LAST}
    assert all_work(scrape)


def test_each_run_ended_as_it_should(facts):
    assert facts["stop"].split() == ["0"]
    assert properties(facts["stopped"]) == {"ActiveState": "inactive", "SubState": "dead"}
    assert facts["ends"].splitlines() == ["watchdog killed ABRT", "success exited 0", "success exited 0"]


def test_journal_has_no_complaint(facts):
    """But the one about the run that was hung; and what a probe costs cannot always be told in a machine whose CPU
    time others take."""
    lines = facts["journal"].splitlines()
    of_exporter = [line for line in lines if line.startswith("ts=")]
    assert of_exporter
    assert [line for line in of_exporter
            if "level=info" not in line and "measure the cost of a probe" not in line] == []
    of_systemd = [line for line in lines if not line.startswith("ts=")]
    assert [line for line in of_systemd if re.search("[Ff]ail|denied|not permitted|Watchdog", line)] == [
        "ioc_exporter.service: Watchdog timeout (limit 1min)!",
        "ioc_exporter.service: Failed with result 'watchdog'."]
