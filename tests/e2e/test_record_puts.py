"""Every write to a record is counted once, under its source, whatever way it came."""
from collections import Counter

import pytest

from harness import clients, databases, env
from harness.foreign_probes import return_probe
from harness.waiting import wait_until

WRITES = "epics_record_writes_total"


def record_puts(scrape, ioc):
    """(record, source) to count, of every series of this IOC."""
    return {tuple(labels[k] for k in ("record", "source")): value
            for labels, value in scrape.series(WRITES, ioc=ioc.name)}


def wait_counted(exporter, ioc, expected):
    """The puts are over, but for those whose answer does not wait for them."""
    def total():
        return sum(record_puts(exporter.scrape(), ioc).values())

    wait_until(lambda: total() >= sum(expected.values()), "the puts to be counted")
    assert record_puts(exporter.scrape(), ioc) == expected


def put_by_ca(ioc, raw_client, expected):
    client = raw_client(ioc)
    channels = {field: client.create(f"S:{field}") for field in
                ("set", "head", "protected", "links.INPA", "links.INPB")}
    for i in range(11):
        client.write(channels["set"], i)
    for i in range(13):
        client.write_notify(channels["set"], i)
    expected["S:set", "ca"] += 24
    for i in range(7):
        client.write_notify(channels["head"], i)
    expected["S:head", "ca"] += 7
    expected["S:middle", "link"] += 7
    expected["S:end", "link"] += 7
    for i in range(3):
        client.write_text(channels["links.INPA"], str(i))
    for i in range(2):
        client.wait_written(client.start_write_notify(channels["links.INPB"], str(i)))
    expected["S:links", "ca"] += 5
    client.write(channels["protected"], 1)  # DISP: the database refuses it
    client.write_notify(channels["protected"], 1)
    client.get(channels["set"])


def put_callbacks_that_wait(ioc, raw_client, expected):
    """The record is busy with the first of them: the others are carried out by callback threads."""
    waiting = []
    for value in range(3):
        client = raw_client(ioc)
        waiting.append((client, client.start_write_notify(client.create("S:busy.A"), value)))
        if value == 0:
            wait_until(lambda: ioc.get("S:busy.PACT") == 1, "the busy record")
    assert ioc.get("S:busy.VAL") == 1
    for client, ioid in waiting:
        client.wait_written(ioid)
    assert ioc.get("S:busy.VAL") == 3
    expected["S:busy", "ca"] += 3


def put_by_shell(ioc, expected):
    for i in range(5):
        ioc.put("S:head.VAL", i)
    expected["S:head", "shell"] += 5
    expected["S:middle", "link"] += 5
    expected["S:end", "link"] += 5
    ioc.put("S:links.INPC", 1)
    expected["S:links", "shell"] += 1
    ioc.put("S:protected.VAL", 1)
    before = ioc.get("S:set:count.VAL")
    ioc.shell("dbtpn S:set 1")  # has a thread of its own
    wait_until(lambda: ioc.get("S:set:count.VAL") == before + 1, "the put by dbtpn")
    expected["S:set", "shell"] += 1


def put_by_record_support(ioc, expected):
    """Within the processing of a record, whoever it was that put to that."""
    for i in range(3):
        ioc.put("S:inside.A", i)
    expected["S:inside", "shell"] += 3
    expected["S:written", "other"] += 3
    expected["S:end", "link"] += 3


def test_every_way_to_write(start_ioc, start_exporter, raw_client, base):
    ioc = start_ioc(f"sources-{base}", databases.put_sources("S:"), base=base,
                    lib_dir=env.base_dir(base) / "lib")
    exporter = start_exporter(sees=[ioc])
    assert record_puts(exporter.scrape(), ioc) == {}
    expected: Counter = Counter()
    put_by_ca(ioc, raw_client, expected)
    put_callbacks_that_wait(ioc, raw_client, expected)
    put_by_shell(ioc, expected)
    put_by_record_support(ioc, expected)
    wait_counted(exporter, ioc, expected)
    assert ioc.get("S:set:count.VAL") == expected["S:set", "ca"] + 1
    scrape = exporter.scrape()
    for reason in ("unnamed", "unreadable"):
        assert scrape.count("ioc_exporter_dropped_total", probe="record_process", reason=reason) == 0


def test_the_shell_beside_return_probes_of_somebody_else(start_ioc, start_exporter, tmp_path):
    """They replace return addresses, that of dbpf too."""
    ioc = start_ioc("shell", databases.put_targets("W:", 1))
    exporter = start_exporter(sees=[ioc])
    puts = 0

    def put() -> None:
        nonlocal puts
        ioc.put("W:set1", puts)
        puts += 1

    with return_probe(ioc, "dbpf", tmp_path / "hits") as hits:
        wait_until(lambda: put() or hits() >= 23, "hits of the other's probe", 60)
    wait_counted(exporter, ioc, Counter({("W:set1", "shell"): puts}))


def test_threads_of_circuits_that_end(start_ioc, start_exporter, connect):
    ioc = start_ioc("clients", databases.put_targets("W:", 2))
    exporter = start_exporter(sees=[ioc])
    pvs = ["W:set1", "W:set2"]
    first = connect(clients.libca, [ioc], pvs, 101)
    second = connect(clients.libca, [ioc], pvs, 17, op="write_notify")
    assert first.send() + second.send() == 2 * (101 + 17)
    wait_counted(exporter, ioc, {(pv, "ca"): 118 for pv in pvs})
    first.close()
    third = connect(clients.libca, [ioc], pvs, 19)
    assert third.send() == 2 * 19
    wait_counted(exporter, ioc, {(pv, "ca"): 118 + 19 for pv in pvs})


@pytest.mark.parametrize("qsrv", [1, 2])
def test_puts_by_pv_access(start_ioc, start_exporter, connect_p4p, qsrv):
    ioc = start_ioc(f"qsrv{qsrv}", databases.put_sources("S:"), qsrv=qsrv)
    exporter = start_exporter(sees=[ioc])
    sender = connect_p4p(ioc, {"S:set": 1, "S:head": 2, "S:links.INPA": "3", "S:busy.A=notify": 4}, 3)
    assert sender.send() == 4 * 3
    wait_counted(exporter, ioc, {
        ("S:set", "pva"): 3, ("S:head", "pva"): 3, ("S:middle", "link"): 3,
        ("S:end", "link"): 3, ("S:links", "pva"): 3, ("S:busy", "pva"): 3})
    sender.close()
