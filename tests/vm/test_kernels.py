"""The exporter on other kernels: everything loads and attaches, and every count is exact."""
import json
import re

import machine
from harness import env
from harness.scrape import DURATION, PROCESSED, PUTS, Scrape

CALLS, WRITES, NOTIFIES = 23, 101, 13
# Where --check is asked first. To load and to attach everything twice takes half of the time, and most of it on the
# kernels for real time.
CHECKED = {"5.10", "6.12"}
# linux/capability.h
DAC_READ_SEARCH, NET_RAW, SYS_PTRACE, SYS_ADMIN, PERFMON, BPF, CHECKPOINT_RESTORE = 2, 13, 19, 21, 38, 39, 40
READERS = {DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE}
# Uprobes of these kernels are perf events, for which the process that attaches them keeps CAP_SYS_ADMIN. Debian's ask for it
# themselves: 3 refuses all perf events to those who have neither it nor CAP_PERFMON.
RIGHTS = {"ioc_exporter": READERS | {BPF}, "ioc_exp-attach": READERS | {BPF, PERFMON, NET_RAW, SYS_ADMIN},
          "ioc_exp-read": READERS, "ioc_exp-keep": set(), "ioc_exp-deliver": set()}
PARANOID = "3"
DATABASE = """
record(ao,"VM:set"){field(FLNK,"VM:count")}
record(calc,"VM:count"){field(CALC,"VAL+1")}
"""


def capabilities(mask: str) -> set[int]:
    return {each for each in range(64) if int(mask, 16) >> each & 1}


def check_rights(facts) -> None:
    rights = [line.split() for line in facts["rights"].splitlines()]
    assert {name for name, _, _ in rights} == set(RIGHTS)
    for name, effective, bound in rights:
        assert capabilities(effective) == RIGHTS[name], name
        # What a reader was forked from has given up the right to bound it more.
        assert capabilities(bound) == RIGHTS["ioc_exp-attach" if name == "ioc_exp-read" else name], name


def test_kernel(series, tmp_path):
    kernel = machine.kernel_of(series)
    settings = {"CALLS": CALLS, "WRITES": WRITES, "NOTIFIES": NOTIFIES, "CHECK": int(series in CHECKED)}
    tree = machine.Initramfs(tmp_path / "root")
    tree.add_ioc(DATABASE)
    tree.add_program(env.exporter_binary(), "/bin/ioc_exporter")
    tree.add_script("guest.sh", "/init", settings)
    facts = machine.boot(kernel, tree.pack(tmp_path / "initramfs.cpio"), tmp_path)
    machine.show(facts)

    release, _, flavour = series.partition("-")
    assert facts["kernel"].startswith(release + ".")
    assert ("-rt-" in facts["kernel"]) == ("PREEMPT_RT" in facts["kernel_version"]) == (flavour == "rt")
    if series in CHECKED:
        assert facts["check_status"].strip() == "0", facts["check"]
        assert "vm-ioc" in facts["check"]
    assert facts["paranoid"].strip() == facts["paranoid_after"].strip() == PARANOID, "the distribution's own"
    check_rights(facts)
    assert facts["clients"].split() == ["@sent", str(WRITES), "@sent", str(NOTIFIES)]
    processed = int(re.search(r"DBF_DOUBLE:\s+(\d+)", facts["truth"])[1])
    assert processed == CALLS + WRITES + NOTIFIES

    scrape = Scrape(facts["metrics"])
    of_ioc = {"ioc": "vm-ioc"}
    assert scrape.value(PROCESSED, record="VM:count", **of_ioc) == processed
    assert scrape.value(PROCESSED, record="VM:set", **of_ioc) == WRITES + NOTIFIES
    assert scrape.value(f"{DURATION}_count", record="VM:count", **of_ioc) == processed
    client = {"pv": "VM:set", "client": "127.0.0.1", "user": "root"}
    assert scrape.value(PUTS, op="write", **client, **of_ioc) == WRITES
    assert scrape.value(PUTS, op="write_notify", **client, **of_ioc) == NOTIFIES
    assert scrape.total(PUTS) == WRITES + NOTIFIES
    for labels, loaded in scrape.series("ioc_exporter_probe_loaded"):
        assert loaded == 1, labels
    assert scrape.value("ioc_exporter_probe_loaded", probe="pva_server_probe") == 1
    assert scrape.count("ioc_exporter_sink_events_total", sink="memory", events="traces") == processed
    for labels, dropped in scrape.series("ioc_exporter_dropped_total"):
        assert dropped == 0, labels
    assert facts["exporter_status"].strip() == "0", facts["exporter_log"]

    puts = [json.loads(line) for line in facts["puts"].splitlines()]
    assert [put["seq"] for put in puts] == list(range(1, WRITES + NOTIFIES + 1))
    assert [put["op"] for put in puts].count("write_notify") == NOTIFIES
    assert {(put["ioc"], put["pv"], put["type"]) for put in puts} == {("vm-ioc", "VM:set", "DBR_DOUBLE")}
    # Two clients write at the same time, each in a thread of its own that may be held up between the put's event and the
    # put: what was there is what some put wrote, and mostly the one before it.
    assert {put["old"] for put in puts} <= {put["value"] for put in puts} | {0}
    assert sum(put["old"] == before["value"] for before, put in zip(puts, puts[1:])) > len(puts) / 2
    assert {put["status"] for put in puts if put["op"] == "write_notify"} == {"ok"}


def test_locked_down(tmp_path):
    """The kernel lets no program read memory: puts are counted from packets, and --check says why there is nothing else."""
    tree = machine.Initramfs(tmp_path / "root")
    tree.add_ioc(DATABASE)
    tree.add_program(env.exporter_binary(), "/bin/ioc_exporter")
    tree.add_script("guest.sh", "/init", {"CALLS": CALLS, "WRITES": WRITES, "NOTIFIES": NOTIFIES, "CHECK": 1, "UP": "epics_ioc_records{"})
    facts = machine.boot(machine.kernel_of("6.1"), tree.pack(tmp_path / "initramfs.cpio"), tmp_path,
                         parameters="lockdown=confidentiality")
    machine.show(facts)
    assert facts["check_status"].strip() == "1"
    reason = "the kernel is locked down (confidentiality) and lets no BPF program read memory"
    for probe in ("record_process", "ca_server_probe", "pva_server_probe"):
        assert re.search(f"load BPF object {probe} .*{re.escape(reason)}", facts["exporter_log"]), probe
    scrape = Scrape(facts["metrics"])
    loaded = {labels["probe"] for labels, value in scrape.series("ioc_exporter_probe_loaded") if value}
    assert loaded == {"ca_tap", "ca_udp"}
    assert scrape.value(PUTS, ioc="vm-ioc", pv="VM:set", op="write", client="127.0.0.1", user="root") == WRITES
    assert scrape.total(PUTS) == WRITES + NOTIFIES
    assert facts["exporter_status"].strip() == "0", facts["exporter_log"]
