"""All bad neighbours at once, beside a real IOC: it scans as before, and its counts are exact."""
import time

from harness import clients, databases
from harness.scrape import PROCESSED, PUTS
from harness.waiting import wait_until
from neighbours import check_that_all_goes_on

EXPORTER_OPTIONS = ["--discovery.interval=200ms"]
SCANNED = [f"H:scan{i}" for i in range(50)]
DATABASE = databases.put_targets("H:", 2) + "".join(
    f'record(calc,"{name}"){{field(CALC,"VAL+1")}}\n' for name in SCANNED)
PVS = ["H:set1", "H:set2"]
PERIOD = 0.1
PASSES = 100
PUTS_EACH = 20_000


def test_all_at_once(start_ioc, start_exporter, connect, silent_file, fake_ioc, map_sparse_files, make_noise):
    ioc = start_ioc("beside-all", DATABASE)
    exporter = start_exporter("--ioc.include=beside-all|silent-.*", sees=[ioc])
    page, page_server = silent_file("read")
    code, code_server = silent_file("open")
    fake = fake_ioc("silent-page", page)
    fake_ioc("silent-code", code, "code")
    map_sparse_files()
    for server in (page_server, code_server):
        server.wait_for("^@asked$", timeout=60)
    make_noise(ioc, exporter)

    client = connect(clients.libca, [ioc], PVS, PUTS_EACH, op="write_notify")
    client.start_sending()
    began = time.monotonic()
    for record in SCANNED:
        ioc.put(f"{record}.SCAN", ".1 second")
    wait_until(lambda: ioc.get(f"{SCANNED[0]}.VAL") >= PASSES, "the records are scanned", 10 * PASSES * PERIOD, 0.5)
    passes, due = ioc.get(f"{SCANNED[0]}.VAL"), (time.monotonic() - began) / PERIOD
    assert passes > due / 2, f"{passes} passes of a scan list that has {due:.0f}"
    for record in SCANNED:
        ioc.put(f"{record}.SCAN", "Passive")
    assert client.wait_sent() == PUTS_EACH * len(PVS)
    client.close()

    values = ioc.get_settled([f"{record}.VAL" for record in SCANNED])
    processed = {record: values[f"{record}.VAL"] for record in SCANNED}
    scrape = exporter.wait_scrape(lambda s: s.counts(PROCESSED, ioc.name, SCANNED) == processed, "exact counts")
    assert {pv: scrape.total(PUTS, ioc=ioc.name, pv=pv) for pv in PVS} == dict.fromkeys(PVS, PUTS_EACH)
    assert [ioc.get(f"{pv}:count.VAL") for pv in PVS] == [PUTS_EACH] * 2
    check_that_all_goes_on(exporter, ioc, fake)
