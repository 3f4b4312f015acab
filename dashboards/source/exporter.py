"""Dashboard Exporter: what it costs, and whether it sees everything."""
from board import ALL_HOSTS, EXPORTERS_DOWN, HOSTS, LAST_SEEN, SOME_HOSTS, Board
from panels import (CALM, COLLECTORS, COUNT, CRITICAL, Column, GOOD, Query, Ranked, Row, Stat, Table, TimeSeries, UNSEEN, WARNING,
                    WHEN, exporter_url)


# Why the records of an IOC are not counted: the first that holds. Of an IOC over its budget it is known what the probes
# cost, and not how many processings are timed.
NOT_COUNTED = f"epics_ioc_records_watched{{{HOSTS}}} == 0"
REASONS = {"3": ("all probes are detached", CALM), "2": ("probe is not loaded", CALM), "1": ("over its budget", CALM),
           "0": ("see its exporter's page", CALM)}
UNWATCHED = (f"(3 + ({NOT_COUNTED}) and on (job, instance) ioc_exporter_detached{{{HOSTS}}} == 1) "
             f'or (2 + ({NOT_COUNTED}) and on (job, instance) ioc_exporter_probe_loaded{{{HOSTS}, probe="record_process"}} == 0) '
             f"or (1 + ({NOT_COUNTED}) and on (job, instance, ioc) "
             f'(ioc_exporter_ioc_overhead_seconds_total{{{HOSTS}, probe="record_process"}} '
             f"unless on (job, instance, ioc) epics_ioc_timed_ratio{{{HOSTS}}})) or {NOT_COUNTED}")


def board() -> Board:
    return Board(
        uid="ioc-exporter-exporter", title="EPICS / Exporter", iocs=False,
        description="What the exporters cost, and whether what they show is all there is.",
        panels=[
            Stat("Exporters", "Exporters that answer.", [Query(f"count(ioc_exporter_build_info{{{HOSTS}}}) or vector(0)")]),
            Stat("Down", "Exporters that do not answer.", [Query(f"count({EXPORTERS_DOWN}) or vector(0)")], steps=[(None, CALM), (1, UNSEEN)]),
            Stat("Faulty exporters", "Exporters whose probes were taken off, probes that the kernel refused, and "
                 "configuration files that an exporter refused.",
                 [Query(f"(sum(ioc_exporter_detached{{{HOSTS}}}) or vector(0)) "
                        f"+ (count(ioc_exporter_probe_loaded{{{HOSTS}}} == 0) or vector(0)) "
                        f"+ (count(ioc_exporter_config_last_reload_successful{{{HOSTS}}} == 0) or vector(0))")], steps=[(None, CALM), (1, CRITICAL)]),
            Stat("Lost events/s, 5 min", "Events a second that could not be counted, or not with all their labels, for reasons "
                 "that are not usual.",
                 [Query(f"sum(instance_probe_reason:ioc_exporter_dropped:rate5m{{{HOSTS}}})")], unit="none", decimals=2,
                 steps=[(None, CALM), (0.005, WARNING)]),
            Stat("Series over a limit", "Series that were summed in one because their family is over its limit.",
                 [Query(f"sum(ioc_exporter_series_limited{{{HOSTS}}}) or vector(0)")],
                 steps=[(None, CALM), (1, WARNING)]),
            Stat("IOCs not counted", "IOCs that run and whose records are not counted: over the budget, or the probes could not "
                 "be attached: see the table.",
                 [Query(f"count(epics_ioc_records_watched{{{HOSTS}}} == 0) or vector(0)")],
                 steps=[(None, CALM), (1, WARNING)]),

            Table("Exporters that do not answer", "Which, and when they answered last, within a day; 50 at most.",
                  [Query(f"topk(50, {EXPORTERS_DOWN})", instant=True),
                   Query(f"1000 * topk(50, {LAST_SEEN} and on (job, instance) {EXPORTERS_DOWN})", instant=True)],
                  width=12, height=6, sort=["-Last seen"], empty_when_healthy=True,
                  columns=[Column("instance", "Exporter"), Column("Value #B", "Last seen", width=150, unit=WHEN)]),
            Table("IOCs whose records are not counted", "IOCs that run and whose records the exporter does not count now, and why; "
                  "50 at most. The page of their exporter says more.",
                  [Query(exporter_url(f"topk(50, {UNWATCHED})"), instant=True)], width=12, height=6,
                  sort=["IOC"], empty_when_healthy=True,
                  columns=[Column("ioc", "IOC", board=True), Column("Value", "Why", width=190, mapping=REASONS),
                           Column("instance", "Exporter", page=True), Column("url", "url", hidden=True)]),

            Row("What it costs"),
            Ranked("Cost for the IOCs", "What the probes cost the six IOCs that they cost most, as a part of one "
                   "core. The line is the default budget of 25 %.",
                   [Query("sum by (instance, ioc) (rate(ioc_exporter_ioc_overhead_seconds_total{" + HOSTS +
                          "}[$__rate_interval]@END))",
                          "{{ioc}}")], unit="percentunit", line=(0.25, "red")),
            Ranked("CPU time of the exporters", "The six exporters with the most CPU time, in cores. What the probes "
                   "cost is not in it: they run in the IOCs' time.",
                   [Query("sum by (instance) (rate(process_cpu_seconds_total{" + HOSTS + "}[$__rate_interval]@END))",
                          "{{instance}}")], unit="percentunit"),
            Ranked("Memory of the exporters", "Resident memory of the six largest.",
                   [Query("sum by (instance) (process_resident_memory_bytes{" + HOSTS + "}@END)",
                          "{{instance}}")], unit="bytes", width=8),
            Ranked("Duration of a scrape", "As Prometheus measures it, the six slowest.",
                   [Query("sum by (instance) (scrape_duration_seconds{" + HOSTS + "}@END)",
                          "{{instance}}")], unit="s", width=8),
            Ranked("Samples of a scrape", "The six largest.",
                   [Query("sum by (instance) (scrape_samples_scraped{" + HOSTS + "}@END)",
                          "{{instance}}")], unit="short", width=8),

            Row("What it sees"),
            Table("What was dropped, time shown", "Events in the time shown that could not be counted, or not with all their labels: "
                  "the ten most frequent reasons.",
                  # Of all hosts what a rule has summed: of a hundred that would be millions of samples.
                  [Query("topk(10, sum by (probe, reason) (60 * sum_over_time("
                         f"job_probe_reason:ioc_exporter_dropped:rate5m{{{ALL_HOSTS}}}[$__range]) "
                         f'or increase(ioc_exporter_dropped_total{{{SOME_HOSTS}}}[$__range])) > 0)', instant=True)],
                  empty_when_healthy=True, sort=["-Events"], steps=[(None, GOOD), (1, WARNING)],
                  columns=[Column("probe", "Probe", width=130), Column("reason", "Reason"),
                           Column("Value", "Events", width=120, unit=COUNT, decimals=0, bar=True)]),
            TimeSeries("Duration of collectors", "Time that each part took for a scrape: the slowest exporter.",
                       [Query(f"max by (collector) (ioc_exporter_collector_duration_seconds{{{HOSTS}}})",
                              "{{collector}}")], unit="s", colors=COLLECTORS),
            Table("Series over their limit", "How many series were summed in one because their family is over its "
                  "limit: the 20 families with most of them.",
                  [Query(f"topk(20, ioc_exporter_series_limited{{{HOSTS}}} > 0)", instant=True)], width=24, height=6,
                  sort=["-Series"], empty_when_healthy=True,
                  columns=[Column("instance", "Exporter"), Column("family", "Family"),
                           Column("Value", "Series", width=90, unit=COUNT, decimals=0)]),
        ])
