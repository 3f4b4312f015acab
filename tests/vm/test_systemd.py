"""The unit that the packages install, under a real systemd: it starts, hangs, is restarted, reloaded and stopped as
systemd does it, and the counts are exact."""
import pathlib
import re
import shutil

import pytest

import machine
from harness import env
from harness.scrape import PROCESSED, PUTS, Scrape

KERNEL = "6.1"
FILES = machine.VM_DIR / "systemd"
PACKAGING = machine.VM_DIR.parent.parent / "packaging"
PROGRAM = "/usr/sbin/ioc_exporter"
CALLS, WRITES, NOTIFIES, AFTER, LAST = 23, 101, 13, 19, 29
DATABASE = """
record(ao,"VM:set"){field(FLNK,"VM:count")}
record(calc,"VM:count"){field(CALC,"VAL+1")}
"""
HOST_UNITS = ["basic.target", "sysinit.target", "multi-user.target", "local-fs.target", "network.target",
              "shutdown.target", "slices.target", "sockets.target", "systemd-journald.service",
              "systemd-journald.socket"]
OUR_UNITS = ["ioc.service", "driver.service"]
HOST_UNIT_DIR, OUR_UNIT_DIR = "/lib/systemd/system", "/etc/systemd/system"
LINKS = {"default.target": f"{HOST_UNIT_DIR}/multi-user.target",
         "sysinit.target.wants/systemd-journald.service": f"{HOST_UNIT_DIR}/systemd-journald.service",
         "sockets.target.wants/systemd-journald.socket": f"{HOST_UNIT_DIR}/systemd-journald.socket",
         "multi-user.target.wants/ioc.service": f"{OUR_UNIT_DIR}/ioc.service",
         "multi-user.target.wants/driver.service": f"{OUR_UNIT_DIR}/driver.service"}
# linux/capability.h: those that the exporter itself keeps, and those that the unit gives. The set that bounds them
# cannot be made smaller without CAP_SETPCAP; as no program is run, nothing is taken from it.
DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN, BPF, CHECKPOINT_RESTORE = 2, 13, 19, 21, 39, 40
KEPT = [DAC_READ_SEARCH, SYS_PTRACE, BPF, CHECKPOINT_RESTORE]
CAPABILITIES, BOUND = (f"{sum(1 << c for c in caps):016x}" for caps in (KEPT, [*KEPT, NET_RAW, SYS_ADMIN]))


def systemd_dir() -> pathlib.Path:
    directory = pathlib.Path("/lib/systemd")
    if not (directory / "systemd").exists():
        pytest.skip("there is no /lib/systemd/systemd: scripts/install-deps.sh test installs it")
    return directory


def lay_out(tree: machine.Initramfs) -> None:
    """One /usr, as distributions have it."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree.root / "usr" / name).mkdir(parents=True)
        (tree.root / name).symlink_to(f"usr/{name}")


def add_systemd(tree: machine.Initramfs, systemd: pathlib.Path) -> None:
    for program in ("systemd", "systemd-journald", "systemd-executor"):
        if (systemd / program).exists():
            tree.add_program(systemd / program, f"/lib/systemd/{program}")
    for unit in HOST_UNITS:
        tree.add(systemd / "system" / unit, f"{HOST_UNIT_DIR}/{unit}", 0o644)
    for unit in OUR_UNITS:
        tree.add(FILES / unit, f"{OUR_UNIT_DIR}/{unit}", 0o644)
    for name, target in LINKS.items():
        link = tree.root / OUR_UNIT_DIR.lstrip("/") / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target)
    # Programs that the driver, the package's postinst and the unit run, and busybox does not have.
    for program in ("systemctl", "journalctl", "useradd", "getent", "install"):
        found = shutil.which(program)
        assert found, f"this host has no {program}"
        tree.add_program(pathlib.Path(found))
    tree.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    tree.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nepics:x:1000:1000::/home/epics:/bin/sh\n")
    tree.write("/etc/group", "root:x:0:\nepics:x:1000:\n")


def add_package(tree: machine.Initramfs) -> None:
    """The files of the package, as its own CMakeLists.txt makes and places them."""
    tree.add_program(env.exporter_binary(), PROGRAM)
    unit = (PACKAGING / "ioc_exporter.service.in").read_text().replace("@IOC_EXPORTER_PROGRAM@", PROGRAM)
    assert f"ExecStart={PROGRAM} " in unit
    tree.write(f"{HOST_UNIT_DIR}/ioc_exporter.service", unit)
    tree.add(PACKAGING / "ioc_exporter.default", "/etc/default/ioc_exporter", 0o644)
    tree.add(PACKAGING / "debian/postinst", "/postinst")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """All of it happens in one machine; the tests look at what it told."""
    kernel, systemd = machine.kernel_of(KERNEL), systemd_dir()
    directory = tmp_path_factory.mktemp("systemd")
    tree = machine.Initramfs(directory / "root")
    lay_out(tree)
    tree.add_ioc(DATABASE)
    add_systemd(tree, systemd)
    add_package(tree)
    tree.add(FILES / "test.conf", f"{OUR_UNIT_DIR}/ioc_exporter.service.d/test.conf", 0o644)
    tree.add_script("systemd/init.sh", "/init", {})
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
    assert facts["state"].splitlines() == [f"/var/lib/ioc_exporter/{name}.1 ioc_exporter 640" for name in ("channels", "habits")]


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
        "ioc_exporter.service: Watchdog timeout (limit 20s)!",
        "ioc_exporter.service: Failed with result 'watchdog'."]
