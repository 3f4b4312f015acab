"""Packets and the server's word do not need each other: what works without the right to either, and what --check says."""
import re
import sys

import pytest

from harness import databases, env
from harness.exporter import run_exporter
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--server-probe"]
LOADED = "ioc_exporter_probe_loaded"
WITHOUT_PACKETS = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
# As a container's seccomp profile does: neither perf_event_open() nor bpf(BPF_LINK_CREATE).
WITHOUT_UPROBES = [sys.executable, env.E2E_DIR / "harness" / "without_uprobes.py"]
# Where uprobes are attached by links (Linux 6.13), nobody needs it.
WITHOUT_SYS_ADMIN = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
RIGHTS = {"all": [], "no packets": WITHOUT_PACKETS, "no uprobes": WITHOUT_UPROBES,
          "neither": WITHOUT_PACKETS + WITHOUT_UPROBES}
if ", uprobe links" in run_exporter("--version").stdout:
    RIGHTS["no sys_admin"] = WITHOUT_SYS_ADMIN
    RIGHTS["no packets, no sys_admin"] = WITHOUT_PACKETS + WITHOUT_SYS_ADMIN
SOURCES = {"no uprobes": "packets", "neither": "none"}
NO_PACKETS = {"no packets", "neither", "no packets, no sys_admin"}


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("rights", databases.put_targets("R:", 1))


def put(client, writes: int, notifies: int) -> None:
    channel = client.create("R:set1")
    for value in range(writes):
        client.write(channel, value)
    for value in range(notifies):
        client.write_notify(channel, value)
    client.get(channel)


@pytest.mark.parametrize("rights", RIGHTS)
def test_counts_with_each_set_of_rights(ioc, start_exporter, raw_client, rights):
    source, with_packets = SOURCES.get(rights, "server"), rights not in NO_PACKETS
    exporter = start_exporter(f"--ioc.include={ioc.name}", sees=[ioc], prefix=RIGHTS[rights])
    exporter.wait_scrape(lambda page: page.put_source(ioc) == source, f"puts are told by {source}")
    client = raw_client(ioc, rights.replace(" ", "-"))
    put(client, 23, 11)
    page = exporter.scrape()
    counted = {(labels["pv"], labels["op"]): value for labels, value in page.series(PUTS, ioc=ioc.name, user=client.user)}
    assert counted == ({("R:set1", "write"): 23, ("R:set1", "write_notify"): 11} if source != "none" else {})
    durations = page.series("epics_put_duration_seconds_count", ioc=ioc.name, pv="R:set1")
    assert [value for _, value in durations] == ([11] if source != "none" else [])
    assert page.value(LOADED, probe="ca_tap") == with_packets
    # Connected clients come from the server's memory.
    assert page.count("epics_circuits", ioc=ioc.name) == 1
    assert bool(page.series("epics_ca_received_bytes_total", ioc=ioc.name)) == with_packets
    assert page.count("epics_ioc_records_watched", ioc=ioc.name) == (rights not in ("no uprobes", "neither"))


@pytest.mark.parametrize("rights", RIGHTS)
def test_check_names_missing_rights(ioc, rights):
    said = run_exporter("--check", f"--ioc.include={ioc.name}", prefix=RIGHTS[rights]).stdout
    missing = "ca_tap +not loaded +open packet socket for ca_tap: Operation not permitted"
    assert bool(re.search(missing, said)) == (rights in NO_PACKETS), said
    assert bool(re.search("ca_udp +not loaded +it needs ca_tap", said)) == (rights in NO_PACKETS), said
    refused = "record_process +not loaded +attach uprobe .*: Operation not permitted"
    assert bool(re.search(refused, said)) == (rights in ("no uprobes", "neither")), said
    for kept, sentence in (("no uprobes", "Its puts are counted from packets: attach uprobe write_action in"),
                           ("neither", "Its puts are not counted: attach uprobe write_action in")):
        assert (sentence in said) == (rights == kept), said
