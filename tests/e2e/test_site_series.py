"""--series=site: counts by record and by PV and client, durations by record type and by IOC. Counts are exact, and an IOC of
250 records with 50 pairs of PV and client has at most 1,500 series."""
import collections

import pytest

from harness import databases
from harness.named_client import NamedClient
from harness.scrape import DURATION, PROCESSED, PUTS, SKIPPED

MOST = 1500
RECORDS, PAIRS, CLIENTS = 250, 50, 10
PUT_DURATION = "epics_put_duration_seconds"
SELF = "epics_record_process_self_seconds_total"


def records_of(kind: str, count: int, fields: str) -> str:
    return "".join(f'record({kind},"L:{kind}{i}"){{{fields.format(i=i)}}}\n' for i in range(count))


def large_ioc() -> str:
    """Of each put target one counts the processings; links write to others; some are asynchronous, some are disabled."""
    targets = "".join(f'record(ao,"L:set{i}"){{field(FLNK,"L:set{i}:count")}}\n'
                      f'record(calc,"L:set{i}:count"){{field(CALC,"VAL+1")}}\n' for i in range(PAIRS))
    return (targets + records_of("calc", 30, 'field(CALC,"VAL+1") field(FLNK,"L:dfanout{i}")')
            + records_of("dfanout", 30, 'field(VAL,"7") field(OUTA,"L:longout{i} PP")')
            + records_of("longout", 30, 'field(FLNK,"L:bo{i}")') + records_of("bo", 30, 'field(DISA,"0")')
            + records_of("calcout", 10, 'field(CALC,"VAL+1") field(ODLY,"0.01")')
            + records_of("mbbo", 10, 'field(DISV,"0") field(DISA,"0")') + records_of("stringin", 10, 'field(SCAN,".5 second")'))


def numbered(prefix: str, count: int, end: str = "") -> list[str]:
    return [f"L:{prefix}{i}{end}" for i in range(count)]


@pytest.fixture(scope="module")
def busy(shared):
    """The IOC with all that its records and clients do, and its exporter."""
    ioc = shared.ioc("series-of-250", large_ioc())
    exporter = shared.exporter("--series=site", "--server-probe", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    for name in 2 * (numbered("calc", 30) + numbered("calcout", 10) + numbered("mbbo", 10)):
        ioc.process_once(name)
    for number in range(CLIENTS):
        client = shared.started.add(NamedClient(ioc.port, f"user{number}", f"console{number}"))
        names = numbered("set", PAIRS)[number::CLIENTS]
        client.open(*names)
        for name in names:
            client.put(name, 4)
            for value in range(3):
                client.write_notify(client._by_name[name], value)
        client.wait_done()
    counters = numbered("set", PAIRS, ":count.VAL")
    assert ioc.get_settled(counters) == dict.fromkeys(counters, 7)
    return ioc, exporter


def test_counts_by_record_are_exact(busy):
    ioc, exporter = busy
    scrape = exporter.scrape()
    assert len(scrape.series(PROCESSED, ioc=ioc.name)) == RECORDS
    truth = {f"L:set{i}:count": 7 for i in range(PAIRS)} | {f"L:calc{i}": 2 for i in range(30)}
    assert {name: ioc.get(f"{name}.VAL") for name in truth} == truth, "what the records say themselves"
    same = numbered("set", PAIRS)
    truth |= dict.fromkeys(same, 7) | dict.fromkeys(numbered("longout", 30) + numbered("bo", 30), 2)
    assert scrape.counts(PROCESSED, ioc.name, truth) == truth
    assert scrape.counts(SKIPPED, ioc.name, numbered("mbbo", 10), reason="disabled") == dict.fromkeys(numbered("mbbo", 10), 2)
    for op, count in (("write", 4), ("write_notify", 3)):
        assert {labels["pv"]: value for labels, value in scrape.series(PUTS, ioc=ioc.name, op=op)} == dict.fromkeys(same, count)
    assert scrape.total("epics_record_writes_total", ioc=ioc.name, source="ca") == 7 * PAIRS
    assert scrape.total("epics_record_writes_total", ioc=ioc.name, source="link") == 2 * 30


def test_durations_are_by_record_type(busy):
    ioc, exporter = busy
    types = ioc.records()
    scrape = exporter.scrape()
    processed = collections.Counter()
    for labels, value in scrape.series(PROCESSED, ioc=ioc.name):
        processed[types[labels["record"]]] += value
    for name in (f"{DURATION}_count", SELF):
        assert all(set(labels) == {"ioc", "record_type"} for labels, _ in scrape.series(name, ioc=ioc.name)), name
    timed = {labels["record_type"]: value for labels, value in scrape.series(f"{DURATION}_count", ioc=ioc.name)}
    assert abs(timed.pop("stringin") - processed.pop("stringin")) <= 10, "these are scanned meanwhile"
    assert timed == {kind: count for kind, count in processed.items() if count}
    assert timed == {"ao": 350, "calc": 410, "dfanout": 60, "longout": 60, "bo": 60, "calcout": 20}
    # Completions are timed once the exporter has seen that the record is asynchronous.
    completions = "epics_record_completion_duration_seconds_count"
    scrape = exporter.wait_scrape(lambda page: ioc.process_once("L:calcout0") or page.series(completions, ioc=ioc.name),
                                  "a completion is counted")
    assert {labels["record_type"] for labels, _ in scrape.series(completions, ioc=ioc.name)} == {"calcout"}


def test_durations_of_puts_are_by_ioc(busy):
    ioc, exporter = busy
    scrape = exporter.scrape()
    assert scrape.series(f"{PUT_DURATION}_count", ioc=ioc.name) == [
        ({"ioc": ioc.name, "protocol": "ca", "pv": "(other)"}, 3.0 * PAIRS)]
    assert not scrape.series("ioc_exporter_series_limited") and not scrape.series("epics_pv_info")


def test_series_of_an_ioc(busy):
    ioc, exporter = busy
    lines = exporter.request("/metrics")[2].decode().splitlines()
    series = sum(f'{{ioc="{ioc.name}"' in line for line in lines)
    assert len(exporter.scrape().series(PUTS, ioc=ioc.name)) == 2 * PAIRS
    assert RECORDS < series <= MOST


def test_a_reload_changes_the_set(start_ioc, start_exporter, tmp_path):
    """No count is lost: the sums have all, also what was counted before."""
    ioc = start_ioc("reset", databases.put_targets("R:", 1))
    file = tmp_path / "site.yml"
    file.write_text("series: all\n")
    exporter = start_exporter(f"--config.file={file}", "--web.enable-lifecycle", sees=[ioc])
    ioc.process_once("R:set1", 23)
    scrape = exporter.scrape()
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, record="R:set1") == 23
    file.write_text("series: site\n")
    assert exporter.request("/-/reload", "POST")[0] == 200
    ioc.process_once("R:set1", 5)
    scrape = exporter.scrape()
    assert scrape.count(PROCESSED, ioc=ioc.name, record="R:set1") == 28
    assert scrape.count(f"{DURATION}_count", ioc=ioc.name, record_type="ao") == 28
    assert not scrape.series(f"{DURATION}_count", record="R:set1")
