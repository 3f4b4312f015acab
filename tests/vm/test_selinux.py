"""The unit in the domain of the packages' SELinux module, on a host that enforces its policy: it does all of its work, and the
kernel refuses it nothing. No rule keeps a refusal silent."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import machine
from harness.scrape import PROCESSED, PUTS, Scrape
from systemd_host import HOST_UNIT_DIR, OUR_UNIT_DIR, PACKAGING, FILES as SYSTEMD_FILES, new_host

KERNEL = "6.1"
FILES = machine.VM_DIR / "selinux"
MODULE = PACKAGING / "selinux"
CALLS, WRITES, NOTIFIES, SENT = 23, 101, 13, 7
RECEIVER = 7004
OPTIONS = ("--config.file=/etc/ioc_exporter/site.yml --collector.putlog --putlog.file=/var/log/ioc_exporter/puts.jsonl"
           " --putlog.burst=0s --collector.traces --traces.rate=100000")
PARAMETERS = "security=selinux selinux=1 log_buf_len=8M"
# Sends events of puts to VM:count only, of which there are none at first.
SITE = f"""
records: {{groups: [{{match: 'VM:set', group: of-the-site}}]}}
putlog: {{sinks: [{{tcp: '127.0.0.1:{RECEIVER}', pv: 'VM:count', burst: 0s}}]}}
"""
DOMAIN = "system_u:system_r:ioc_exporter_t:s0"
PROCESSES = ["ioc_exporter", "ioc_exp-attach", "ioc_exp-keep", "ioc_exp-deliver"]


def host_with_policy(directory: pathlib.Path) -> pathlib.Path:
    """A copy of the root that scripts/make-selinux-root.sh makes, with our module in its policy, and no dontaudit rule."""
    made = pathlib.Path(os.environ["IOC_EXPORTER_VM_KERNELS"]) / "selinux" / "root"
    if not made.exists():
        pytest.skip(f"there is no {made}: scripts/make-selinux-root.sh makes it on Debian hosts")
    root = directory / "policy"
    subprocess.run(["cp", "-a", "--reflink=auto", made, root], check=True)
    shutil.copytree(MODULE, root / "module")
    for command in ("make -C /module -f /usr/share/selinux/devel/Makefile NAME=default ioc_exporter.pp",
                    "semodule --noreload --disable_dontaudit --install=/module/ioc_exporter.pp"):
        done = subprocess.run(["chroot", root, *command.split()], capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return root


def add_policy(tree: machine.Initramfs, root: pathlib.Path) -> None:
    shutil.copytree(root / "etc/selinux", tree.root / "etc/selinux")
    tree.write("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=default\n")
    for program in ("load_policy", "setfiles"):
        tree.add_program(root / "sbin" / program, f"/usr/sbin/{program}")
    # Loaded when it is needed, so that ldd does not tell.
    for library in pathlib.Path("/usr/lib").glob("*/libcurl.so.4"):
        tree.add_program(library, str(library))
    # That shows contexts; busybox's does not.
    tree.add_program(pathlib.Path(shutil.which("stat")), "/usr/local/bin/stat")
    tree.add(FILES / "load.sh", "/load.sh")


def host(directory: pathlib.Path) -> machine.Initramfs:
    tree = new_host(directory / "root", [SYSTEMD_FILES / "driver.service", FILES / "other-ioc.service"])
    add_policy(tree, host_with_policy(directory))
    for name, rest in (("passwd", "900::/nonexistent:/bin/false"), ("group", "")):
        file = tree.root / "etc" / name
        file.write_text(f"{file.read_text()}ioc_exporter:x:900:{rest}\n")
    # --check as the service.
    unit = (tree.root / HOST_UNIT_DIR.lstrip("/") / "ioc_exporter.service").read_text()
    check = re.sub("(?m)^(Type|NotifyAccess|WatchdogSec|ExecReload|Restart|RestartSec|EnvironmentFile)=.*\n", "", unit)
    tree.write(f"{OUR_UNIT_DIR}/check.service", check.replace("[Service]", "[Service]\nType=oneshot").replace(
        "$IOC_EXPORTER_OPTIONS", "--check --strict"))
    tree.write("/etc/default/ioc_exporter", f"IOC_EXPORTER_OPTIONS='{OPTIONS}'\n")
    tree.write("/etc/ioc_exporter/site.yml", SITE)
    tree.add(SYSTEMD_FILES / "test.conf", f"{OUR_UNIT_DIR}/ioc_exporter.service.d/test.conf", 0o644)
    counts = {"CALLS": CALLS, "WRITES": WRITES, "NOTIFIES": NOTIFIES, "SENT": SENT, "RECEIVER": RECEIVER}
    tree.add_script("selinux/driver.sh", "/driver.sh", counts)
    return tree


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """All of it happens in one machine; the tests look at what it told."""
    kernel = machine.kernel_of(KERNEL)
    directory = tmp_path_factory.mktemp("selinux")
    try:
        tree = host(directory)
        return machine.boot(kernel, tree.pack(directory / "initramfs.cpio"), directory, parameters=PARAMETERS)
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def facts(told):
    machine.show(told)
    return told


def refusals(text: str) -> list[str]:
    """Of the exporter's processes, and of others' on them and on its files."""
    lines = [line for line in text.splitlines() if "ioc_exporter_" in line]
    return [re.sub(r"^.*avc: +denied +", "", line) for line in lines]


def test_does_its_work_in_its_domain(facts):
    assert facts["mode"].strip() == "1"
    processes = [line.split() for line in facts["domains"].replace("\0", "").splitlines()]
    assert {domain for _, domain in processes} == {DOMAIN}
    assert sorted(name for name, _ in processes if name != "ioc_exp-read") == sorted(PROCESSES)
    scrape = Scrape(facts["metrics"])
    count = CALLS + WRITES + NOTIFIES
    assert scrape.value(PROCESSED, ioc="vm-ioc", record="VM:count") == count
    assert scrape.total(PUTS, ioc="vm-ioc") == WRITES + NOTIFIES
    assert scrape.value(PROCESSED, ioc="vm-ioc", record_group="of-the-site") == WRITES + NOTIFIES
    for name in ("ioc_exporter_probe_loaded", "ioc_exporter_collector_success", "epics_ioc_records_watched"):
        parts = scrape.series(name)
        assert parts and all(value == 1 for _, value in parts), parts
    for labels, dropped in scrape.series("ioc_exporter_dropped_total"):
        assert dropped == 0, labels
    puts = [json.loads(line) for line in facts["puts"].splitlines()]
    assert [put["seq"] for put in puts] == list(range(1, WRITES + NOTIFIES + 1))


def test_checks_in_its_domain(facts):
    assert dict(line.split("=") for line in facts["check_status"].split()) == {
        "Result": "success", "ExecMainStatus": "0"}, facts["check"]
    assert "vm-ioc" in facts["check"] and "other-ioc" in facts["check"]


def test_its_files_have_types_of_their_own(facts):
    lines = [line.split() for line in facts["labels"].splitlines()]
    types = {(name.split("/")[2], context.split(":")[2]) for name, context in lines}
    assert types == {("log", "ioc_exporter_log_t"), ("lib", "ioc_exporter_var_lib_t")}


def test_nothing_is_refused(facts):
    assert refusals(facts["refused"]) == []
    for text in (facts["refused"], facts["sending"]):
        assert not re.search("audit_lost|exceeded|suppressed", text), text


def test_sends_to_receivers_when_it_may(facts):
    """Also shows that a refusal is seen."""
    refused = refusals(facts["sending"])
    assert refused
    for line in refused:
        assert line.startswith("{ name_connect }") and f"dest={RECEIVER} scontext={DOMAIN}" in line, line
    assert [json.loads(line)["pv"] for line in facts["received"].splitlines()] == ["VM:count"] * SENT
