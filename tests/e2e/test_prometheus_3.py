"""Prometheus 3: how it asks, which histograms it makes, and that it takes our rules."""
import math
import pathlib
import re

import pytest

from harness import databases
from harness.formats import OPENMETRICS, PROTOBUF, FormatProxy
from harness.prometheus import Prometheus, prometheus_3
from harness.scrape import DURATION, PROCESSED, Scrape
from harness.waiting import wait_until

ALERTS = pathlib.Path(__file__).parent.parent.parent / "alerts"
TEXT_ANSWER = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_ANSWER = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROTOBUF_ANSWER = ("application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
                   "encoding=delimited")
# A job's configuration, a part of its Accept header, and the Content-Type of the answer.
JOBS = {
    # Native histograms are switched on: protobuf comes first.
    "default": ({}, "escaping=allow-utf-8", PROTOBUF_ANSWER),
    "text": ({"scrape_protocols": ["PrometheusText0.0.4"]}, "text/plain;version=0.0.4;", TEXT_ANSWER),
    # A version of text that the exporter does not have: it answers what anyone reads.
    "text1": ({"scrape_protocols": ["PrometheusText1.0.0"]},
              "text/plain;version=1.0.0;escaping=allow-utf-8;", TEXT_ANSWER),
    "openmetrics": ({"scrape_protocols": ["OpenMetricsText1.0.0"]},
                    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;", OPENMETRICS_ANSWER),
    "underscores": ({"scrape_protocols": ["OpenMetricsText1.0.0"], "metric_name_validation_scheme": "legacy",
                     "metric_name_escaping_scheme": "underscores"},
                    "escaping=underscores", OPENMETRICS_ANSWER),
    "both": ({"scrape_protocols": ["PrometheusProto", "PrometheusText0.0.4"],
              "always_scrape_classic_histograms": True}, PROTOBUF, PROTOBUF_ANSWER),
    "custom": ({"scrape_protocols": ["OpenMetricsText1.0.0"], "convert_classic_histograms_to_nhcb": True},
               OPENMETRICS, OPENMETRICS_ANSWER),
}


@pytest.fixture
def native_histograms(started, log_dir):
    """native_histograms(jobs, ...) -> a running Prometheus 3 that stores them."""
    def start(jobs, **more) -> Prometheus:
        return started.add(Prometheus(log_dir, jobs, "--enable-feature=native-histograms", binary=prometheus_3(), **more))

    return start


def test_prometheus_3_asks_and_is_answered(start_ioc, start_exporter, native_histograms):
    ioc = start_ioc("asked", databases.put_targets("A:", 1))
    exporter = start_exporter("--overhead.target=0", sees=[ioc])
    ioc.process_once("A:set1", 23)
    proxy = FormatProxy(exporter.port)
    try:
        server = native_histograms({job: f"127.0.0.1:{proxy.port}/job/{job}" for job in JOBS},
                                   settings={job: settings for job, (settings, _, _) in JOBS.items()})
        counted = f'{PROCESSED}{{ioc="asked",record="A:set1"}}'
        found = wait_until(lambda: len(answers := server.query(counted)) == len(JOBS) and answers,
                           "all jobs in Prometheus")
        assert {labels["job"]: value for labels, value in found} == dict.fromkeys(JOBS, 23)
        assert server.api("status/buildinfo")["version"].startswith("3.")
        for job, (_, asks, answer) in JOBS.items():
            assert asks in proxy.asked[f"/job/{job}"], job
            assert proxy.content_types[f"/job/{job}"] == answer, job
        check_histograms(server, exporter.scrape())
    finally:
        proxy.close()


def edge_of_all(buckets: list[tuple[float, int]]) -> float:
    """Which edge nothing was over; the last finite one, where something was: so does histogram_quantile."""
    edges = [edge for edge, count in buckets if count == buckets[-1][1]]
    return edges[0] if edges[0] < math.inf else buckets[-2][0]


def check_histograms(server: Prometheus, scrape: Scrape) -> None:
    """Native ones from protobuf, classic ones from text, and such with custom buckets made of text's."""
    labels = 'ioc="asked",record="A:set1"'
    own = scrape.buckets("asked", "A:set1")
    count = scrape.value(f"{DURATION}_count", ioc="asked", record="A:set1")
    total = scrape.value(f"{DURATION}_sum", ioc="asked", record="A:set1")
    assert count == own[-1][1] == 23

    classic = {}
    for series, value in server.query(f"{DURATION}_bucket{{{labels}}}"):
        classic.setdefault(series["job"], []).append((float(series["le"]), value))
    # always_scrape_classic_histograms: what protobuf says has no classic buckets to be scraped.
    assert set(classic) == {"text", "text1", "openmetrics", "underscores"}
    for job, buckets in classic.items():
        assert sorted(buckets) == own, job
        (_, longest), = server.query(f'histogram_quantile(1, {DURATION}_bucket{{{labels},job="{job}"}})')
        assert longest == edge_of_all(own), job
    for suffix, value in (("_count", count), ("_sum", total)):
        found = server.query(f"{DURATION}{suffix}{{{labels}}}")
        assert {series["job"]: v for series, v in found} == dict.fromkeys(classic, value)

    for job in ("default", "both", "custom"):
        native = f'{DURATION}{{{labels},job="{job}"}}'
        assert [v for _, v in server.query(f"histogram_count({native})")] == [count], job
        assert [v for _, v in server.query(f"histogram_sum({native})")] == [total], job
        buckets = server.buckets(native)
        assert [(edge, sum(n for upper, n in buckets if upper <= edge)) for edge, _ in own] == own, job
        if job == "custom":
            (_, longest), = server.query(f"histogram_quantile(1, {native})")
            assert longest == edge_of_all(own)


def test_prometheus_3_takes_the_rules(start_exporter, native_histograms, log_dir):
    exporter = start_exporter("--no-collector.records")
    rules = []
    for path in sorted(ALERTS.glob("*.yml")):  # as they stand, but each second
        rules.append(log_dir / f"rules-{path.name}")
        rules[-1].write_text(re.sub(r"\n +interval: \w+", "", path.read_text()))
    server = native_histograms({"ioc_exporter": f"127.0.0.1:{exporter.port}/metrics"}, rules=rules)

    def evaluated() -> list[dict]:
        groups = (server.api("rules") or {"groups": []})["groups"]
        done = all(rule["health"] != "unknown" for group in groups for rule in group["rules"])
        return groups if done else []

    groups = wait_until(evaluated, "each rule was evaluated")
    assert rules and {group["file"] for group in groups} == {str(path) for path in rules}
    for rule in (rule for group in groups for rule in group["rules"]):
        assert (rule["health"], rule.get("lastError", "")) == ("ok", ""), rule["name"]
