"""/metrics in its formats: parsers that are not ours, and real Prometheus servers, read the same in each."""
import math
import subprocess

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from harness import databases
from harness.exporter import Exporter
from harness.named_client import NamedClient
from harness.formats import OPENMETRICS, PROTOBUF, TEXT, FormatProxy
from harness.prometheus import Prometheus, installed, prometheus_3
from harness.scrape import DURATION, PROCESSED, PUTS
from harness.waiting import wait_until

# A channel filter is JSON, with any white space: names with quotes and newlines, as long as one likes.
LONG_PV = 'F:set1.VAL{"ts":\n{}' + " " * 4096 + "}"
HOSTILE_USER = 'o"p\\e\nr\udcff\\xFF{}'
HOSTILE_HOST = "höst,a=\"b\"} 1\n"


def in_text(name: str) -> str:
    """A name's bytes as label values show them: what is no UTF-8 as \\xNN, and what could be mistaken for it."""
    return name.replace("\\x", "\\x5Cx").encode("utf-8", "surrogateescape").decode(
        "utf-8", "backslashreplace").replace("\\xff", "\\xFF")


def samples(families) -> dict:
    """(name, labels) to value of what is the same in each format: edges as numbers."""
    found = {}
    for family in families:
        for sample in family.samples:
            labels = dict(sample.labels)
            if "le" in labels:
                labels["le"] = float(labels["le"])
            if sample.name.endswith("_created"):
                continue  # which the text format has not
            key = (sample.name, frozenset(labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


@pytest.fixture(scope="module")
def served(shared, tmp_path_factory):
    """An exporter whose IOC has counted processings and puts, some by names that are hard to print."""
    ioc = shared.ioc("formats", databases.put_targets("F:", 2))
    put_log = tmp_path_factory.mktemp("formats") / "puts.jsonl"
    exporter = shared.exporter("--collector.putlog", f"--putlog.file={put_log}", sees=[ioc])
    client = shared.started.add(NamedClient(ioc.port, HOSTILE_USER, HOSTILE_HOST))
    client.open("F:set1", "F:set2.VAL", LONG_PV)
    client.put("F:set1", 23)
    client.put("F:set2.VAL", 7)
    client.put(LONG_PV, 5)
    client.wait_done()
    return ioc, exporter


def mine(found: dict, ioc: str) -> dict:
    return {key: value for key, value in found.items() if ("ioc", ioc) in key[1]
            and key[0].startswith("epics_record_")}


def test_formats_and_codings_by_header(served):
    ioc, exporter = served
    answers = {}
    for accept in (TEXT, OPENMETRICS, PROTOBUF):
        status, headers, body = exporter.request("/metrics", headers={"Accept": accept})
        assert status == 200 and headers["vary"] == "Accept, Accept-Encoding"
        answers[accept] = headers["content-type"], body
        head = exporter.request("/metrics", "HEAD", headers={"Accept": accept})
        assert (head[0], head[1]["content-type"], head[2]) == (200, headers["content-type"], b"")
    assert answers[TEXT][0] == "text/plain; version=0.0.4; charset=utf-8"
    assert answers[OPENMETRICS][0] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert answers[PROTOBUF][0] == ("application/vnd.google.protobuf; "
                                    "proto=io.prometheus.client.MetricFamily; encoding=delimited")
    text = samples(text_format(answers[TEXT][1].decode()))
    other = samples(openmetrics(answers[OPENMETRICS][1].decode()))
    assert mine(text, ioc.name) == mine(other, ioc.name) and mine(text, ioc.name)
    puts = {dict(labels)["pv"]: (value, dict(labels)) for (name, labels), value in other.items()
            if name == PUTS and ("ioc", ioc.name) in labels}
    cut = in_text(LONG_PV[:231])
    assert {pv: value for pv, (value, _) in puts.items()} == {"F:set1": 23, "F:set2.VAL": 7, cut: 5}
    for _, labels in puts.values():
        assert labels["user"] == in_text(HOSTILE_USER) and labels["client_host"] == in_text(HOSTILE_HOST)
    assert in_text(HOSTILE_USER).encode() in answers[PROTOBUF][1]

    status, headers, body = exporter.request("/metrics", headers={
        "Accept-Encoding": "gzip;q=0.5, zstd"})
    assert (status, headers["content-encoding"]) == (200, "zstd")
    unpacked = subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True).stdout
    assert mine(samples(text_format(unpacked.decode())), ioc.name) == mine(text, ioc.name)


def by_job(answers) -> dict[str, list]:
    jobs: dict[str, list] = {}
    for labels, value in answers:
        rest = {k: v for k, v in labels.items() if k not in ("job", "__name__", "instance")}
        jobs.setdefault(labels["job"], []).append((sorted(rest.items()), value))
    return {job: sorted(found) for job, found in jobs.items()}


def compare(server: Prometheus, exporter: Exporter, ioc) -> None:
    scrape = exporter.scrape()
    for expression in (PROCESSED, PUTS, "epics_last_put_timestamp_seconds",
                       "epics_record_process_self_seconds_total",
                       "epics_ioc_alarm_transitions_total"):  # mostly 0
        jobs = by_job(server.query(f'{expression}{{ioc="{ioc.name}"}}'))
        # To Prometheus, a label without a value is none.
        own = sorted((sorted((k, v) for k, v in labels.items() if v), value)
                     for labels, value in scrape.series(expression, ioc=ioc.name))
        assert own and jobs == {"text": own, "openmetrics": own, "protobuf": own}, expression
    native = f'{DURATION}{{job="protobuf",ioc="{ioc.name}",record="F:set1"}}'
    (_, count), = server.query(f"histogram_count({native})")
    (_, total), = server.query(f"histogram_sum({native})")
    labels = {"ioc": ioc.name, "record": "F:set1"}
    assert count == scrape.value(f"{DURATION}_count", **labels) > 0
    assert total == scrape.value(f"{DURATION}_sum", **labels)
    buckets = server.buckets(native)
    for edge, cumulative in scrape.buckets(ioc.name, "F:set1"):
        assert sum(counted for upper, counted in buckets if upper <= edge) == cumulative, edge
        if edge < math.inf:
            (_, share), = server.query(f"histogram_fraction(0, {edge!r}, {native})")
            assert round(share * count, 6) == cumulative, edge
    (_, longest), = server.query(f"histogram_quantile(1, {native})")
    # Prometheus 3 goes by logarithms in a native histogram: the last digit may be another.
    assert longest == pytest.approx(buckets[-1][0], rel=1e-12), "the upper edge of the last bucket"


@pytest.mark.parametrize("find", [lambda: installed("prometheus", "prometheus"), prometheus_3], ids=["debian", "prometheus_3"])
def test_prometheus_reads_all(find, served, log_dir, started):
    """Three jobs of one Prometheus, one a format."""
    ioc, exporter = served
    ioc.process_once("F:set1", 3)
    proxy = FormatProxy(exporter.port)
    try:
        jobs = {path[1:]: f"127.0.0.1:{proxy.port}{path}" for path in FormatProxy.ACCEPT}
        server = started.add(Prometheus(log_dir, jobs, "--enable-feature=native-histograms", binary=find(),
                                        interval=5))  # time for a scrape on a busy host
        of_ioc = f'{{ioc="{ioc.name}",record="F:set1"}}'
        wait_until(lambda: len(server.query(f"{PROCESSED}{of_ioc}")) == 3,
                   "three formats in Prometheus")
        assert set(proxy.content_types) == set(FormatProxy.ACCEPT)
        compare(server, exporter, ioc)
    finally:
        proxy.close()
