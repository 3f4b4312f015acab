"""Puts by PV Access: the IOC's own server, QSRV 1 or 2, names each one's PV and client."""
import json
import time
from collections import Counter

import pytest

from harness import clients
from harness.clients import GUEST
from harness.exporter import run_exporter

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]
PUTS = "epics_puts_total"
FAILURES = "epics_put_failures_total"
UNEXPECTED = "epics_unexpected_puts_total"
LAST_UNEXPECTED = "epics_last_unexpected_put_timestamp_seconds"

LONG = "A:" + "record_with_a_long_name_" * 2
GROUP = json.dumps({"A:group": {"x": {"+channel": "VAL", "+putorder": 0}}})
GROUP_TOO = json.dumps({"A:group": {"y": {"+channel": "VAL", "+putorder": 1}}})
CLOSED_GROUP = json.dumps({"A:closed-group": {"z": {"+channel": "VAL", "+putorder": 0}}})
RECORDS = f"""
    record(ao,"A:set"){{field(FLNK,"A:set:count")}}
    record(calc,"A:set:count"){{field(CALC,"VAL+1")}}
    record(stringout,"{LONG}"){{}}
    record(calc,"A:links"){{}}
    record(ao,"A:x"){{info(Q:group,{GROUP})}}
    record(ao,"A:y"){{info(Q:group,{GROUP_TOO})}}
    record(ao,"A:disabled"){{field(DISP,"1")}}
    record(ao,"A:closed"){{field(ASG,"closed") info(Q:group,{CLOSED_GROUP})}}
"""
ACCESS = """
    ASG(DEFAULT){RULE(1,WRITE)}
    ASG(closed){RULE(1,READ)}
"""
POLICY = f"""
policy:
  rules:
    - name: no guests
      action: forbid
      users: {GUEST}
    - name: operators
      action: expect
      clients: 127.0.0.0/8
"""


@pytest.fixture(scope="module")
def iocs(shared):
    return {qsrv: shared.ioc(f"pva{qsrv}", RECORDS, access_security=ACCESS, qsrv=qsrv) for qsrv in (1, 2)}


@pytest.fixture(scope="module")
def exporter(shared, iocs, tmp_path_factory):
    site = tmp_path_factory.mktemp("site") / "site.yml"
    site.write_text(POLICY)
    exporter = shared.exporter(f"--config.file={site}", sees=list(iocs.values()))
    for ioc in iocs.values():
        exporter.wait_put_source(ioc, "server", "pva")
    return exporter


def counts(page, family: str, ioc, *names: str) -> Counter:
    return Counter({tuple(labels[name] for name in names): value for labels, value in page.series(family, ioc=ioc.name)})


@pytest.mark.parametrize("qsrv", [1, 2])
def test_each_put_has_its_pv_and_its_client(iocs, exporter, connect_p4p, as_guest, qsrv):
    ioc = iocs[qsrv]
    operator = connect_p4p(ioc, {
        "A:set": 1, "A:set.VAL": 2, "A:set=notify": 3, "A:set=process": 4, LONG: "text", "A:links.INPA": "5",
        "A:group": '{"x": {"value": 6}, "y": {"value": 7}}'}, 23)
    guest = connect_p4p(ioc, {
        "A:set": 8, "A:closed=refused": 9, "A:closed=notify=refused": 9, "A:group": '{"y": {"value": 10}}',
        "A:closed-group=refused": '{"z": {"value": 1}}', "A:disabled=refused": 1}, 7, as_guest)
    again = connect_p4p(ioc, {"A:set": 11}, 5, as_guest)  # another connection of the same client
    assert [client.send() for client in (operator, guest, again)] == [23 * 7, 7 * 6, 5]
    puts = Counter({("A:set", clients.LIBCA_USER): 23 * 3, ("A:set.VAL", clients.LIBCA_USER): 23,
                    (LONG, clients.LIBCA_USER): 23, ("A:links.INPA", clients.LIBCA_USER): 23,
                    ("A:group", clients.LIBCA_USER): 23,
                    ("A:set", GUEST): 12, ("A:closed", GUEST): 14, ("A:group", GUEST): 7, ("A:closed-group", GUEST): 7,
                    ("A:disabled", GUEST): 7})
    refused = Counter({("A:closed", GUEST, "no_write_access"): 14, ("A:closed-group", GUEST, "no_write_access"): 7,
                       ("A:disabled", GUEST, "put_failed"): 7})
    # An IOC may tell its clients before the program has told us.
    page = exporter.wait_scrape(lambda page: page.total(FAILURES, ioc=ioc.name) >= refused.total(), "the failures")
    assert counts(page, PUTS, ioc, "pv", "user") == puts
    assert counts(page, FAILURES, ioc, "pv", "user", "reason") == refused
    for labels, _ in page.series(PUTS, ioc=ioc.name):
        assert (labels["client"], labels["client_host"], labels["op"]) == (clients.LOOPBACK, clients.LOOPBACK, "put")
    assert ioc.get("A:set:count.VAL") == 23 * 4 + 12
    assert counts(page, UNEXPECTED, ioc, "pv", "user", "action") == Counter(
        {(*key, "forbidden"): value for key, value in puts.items() if key[1] == GUEST})
    assert page.value(LAST_UNEXPECTED, ioc=ioc.name, pv="A:group") > 1.7e9
    said = run_exporter("who-wrote", f"--url=http://127.0.0.1:{exporter.port}", "--json", "A:set").stdout
    wrote = Counter({(put["pv"], put["user"], put["op"]): put["puts"] for put in json.loads(said)["puts"]
                     if put["ioc"] == ioc.name})
    assert wrote == Counter({("A:set", clients.LIBCA_USER, "put"): 69, ("A:set.VAL", clients.LIBCA_USER, "put"): 23,
                             ("A:set", GUEST, "put"): 12})
    # Those that no rule forbids are in what a policy would expect; all say when there was none of them.
    learned = run_exporter("policy", "learn", f"--from=http://127.0.0.1:{exporter.port}").stdout
    assert f"users: ['{clients.LIBCA_USER}']" in learned and "- 'A:group'  # " in learned, learned
    assert f"users: ['{GUEST}']" not in learned and "to A:closed-group, by rule no guests" in learned, learned
    text = exporter.request("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})[2].decode()
    for family in (PUTS, FAILURES):
        created = [float(line.split()[-1]) for line in text.splitlines()
                   if line.startswith(family.replace("_total", "_created{") + f'ioc="{ioc.name}"')]
        assert len(created) == len(page.series(family, ioc=ioc.name)) and all(1.7e9 < at < time.time() for at in created)
    for reason in ("full", "unreadable", "cut"):
        assert page.count("ioc_exporter_dropped_total", probe="pva_server_probe", reason=reason) == 0


def test_without(iocs, log_dir):
    page = run_exporter("--once=1", "--no-server-probe", "--no-collector.puts", "--ioc.include=pva1").stdout
    assert "epics_puts_total{" not in page and 'probe="pva_server_probe"' not in page
