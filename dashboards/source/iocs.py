"""Dashboard IOCs: the health of all on one page, and of the one that is chosen."""
from board import IOCS, Board, halves
from panels import (CRITICAL, GOOD, PASSES, PERIODS, PROCESSINGS, PUTS, SEVERITIES, STATES, UP_DOWN, WARNING, Column, Query, Ranked, Row, Stat,
                    StateTimeline, Table, TimeSeries, worst_alerts)

# The 30 that need attention most, in every query of the table.
SHOWN = f"and on (job, instance, ioc) topk(30, ioc:epics_ioc:attention{{{IOCS}}})"


def column(expression: str) -> Query:
    return Query(f"sum by (job, instance, ioc) ({expression}) {SHOWN}", instant=True)

ON = "on (job, instance, ioc)"
# Those that have ended, and those that a site expects and that were not seen.
DOWN = f"(epics_ioc_up{{{IOCS}}} == 0 or (epics_ioc_expected{{{IOCS}}} unless {ON} epics_ioc_up{{{IOCS}}}))"


def count_state(title: str, value: int, color: str, text: str) -> Stat:
    return Stat(title, text, [Query(f"count(ioc:epics_alerts:worst{{{IOCS}}} == {value}) or vector(0)")], unit="short",
                steps=[(None, GOOD), (1, color)])


def board() -> Board:
    return Board(
        uid="ioc-exporter-iocs", title="EPICS / IOCs", iocs="all",
        description="The health of all IOCs on one page. Choose one above, or click its name, for what it does.",
        panels=[
            Stat("IOCs up", "IOCs that run.", [Query(f"count(epics_ioc_up{{{IOCS}}} == 1) or vector(0)")], unit="short"),
            Stat("IOCs down", "IOCs that have ended, within the last day, and those that are expected and were never seen.",
                 [Query(f"count({DOWN}) or vector(0)")], unit="short",
                 steps=[(None, GOOD), (1, CRITICAL)]),
            count_state("Critical", 3, CRITICAL, "IOCs with a critical alert that fires."),
            count_state("Warning", 2, WARNING, "IOCs whose worst alert that fires is a warning."),
            Stat("Restarts", "Starts of IOCs again in the time shown.",
                 [Query(f"sum(increase(epics_ioc_restarts_total{{{IOCS}}}[$__range])) or vector(0)")], unit="short",
                 decimals=0, steps=[(None, GOOD), (0.5, WARNING)]),
            Stat("Records", "Records of all IOCs.", [Query(f"sum(epics_ioc_records{{{IOCS}}})")], unit="short"),

            Table("IOCs by what needs attention", "The 30 IOCs with the worst alerts, then with the most CPU time. A "
                  "name links to what this IOC does.",
                  [column(f"ioc:epics_alerts:worst{{{IOCS}}}"),
                   column(f"(epics_ioc_up{{{IOCS}}} or 0 * epics_ioc_expected{{{IOCS}}})"),
                   column(f"ioc:epics_ioc_cpu_seconds:rate5m{{{IOCS}}}"),
                   column(f"ioc:epics_ioc_processings:rate5m{{{IOCS}}}"),
                   column(f"ioc_protocol:epics_puts:rate5m{{{IOCS}}}"),
                   column(f"epics_ioc_records_stuck{{{IOCS}}}"),
                   column(f"epics_ioc_resident_memory_bytes{{{IOCS}}}")],
                  width=24, height=10, sort="State",
                  columns=[Column("ioc", "IOC", board="ioc-exporter-iocs"), Column("instance", "Exporter", width=220),
                           Column("Value #A", "State", width=90, mapping=STATES),
                           Column("Value #B", "Runs", width=80, mapping=UP_DOWN),
                           Column("Value #C", "CPU", width=90, unit="percentunit", decimals=1),
                           Column("Value #D", "Processings", width=170, unit=PROCESSINGS, decimals=1),
                           Column("Value #E", "Puts", width=120, unit=PUTS, decimals=1),
                           Column("Value #F", "Stuck", width=80, unit="short"),
                           Column("Value #G", "Memory", width=110, unit="bytes", decimals=0)]),
            Table("Alerts that fire", "Alerts about IOCs, 50 at most. An alert links to what to do.",
                  [Query(worst_alerts(f'ioc!="", {IOCS}', "job, instance, ioc"), instant=True)], width=12, height=8,
                  empty_when_healthy=True,
                  columns=[Column("severity", "Severity", width=90, mapping=SEVERITIES),
                           Column("alertname", "Alert", runbook=True), Column("ioc", "IOC", width=200)]),
            Table("IOCs that do not run", "How those ended that have, where the exporter saw it; those without were never "
                  "seen; 50 at most. Until they run again, or for a day.",
                  [Query(f"topk(50, {DOWN} * {ON} group_left (reason, status, signal) epics_ioc_last_exit_info{{{IOCS}}} "
                         f"or ({DOWN} unless {ON} epics_ioc_last_exit_info{{{IOCS}}}))", instant=True)],
                  width=12, height=8, empty_when_healthy=True,
                  columns=[Column("ioc", "IOC", board="ioc-exporter-iocs"), Column("instance", "Exporter", width=160),
                           Column("reason", "Ended by", width=95), Column("signal", "Signal", width=90),
                           Column("status", "Exit status", width=100)]),
            StateTimeline("Health over time", "The worst alert of the 15 IOCs that need attention most at the end of the "
                          "time shown.",
                          [Query(f"ioc:epics_alerts:worst{{{IOCS}}} and on (job, instance, ioc) "
                                 f"topk(15, ioc:epics_ioc:attention{{{IOCS}}} @ end())", "{{ioc}}")],
                          mapping=STATES, width=12, height=8),
            Ranked("CPU time", "The six IOCs with the most CPU time at the end of the time shown, in cores.",
                   [Query("sum by (instance, ioc) (ioc:epics_ioc_cpu_seconds:rate5m{" + IOCS + "}@END)",
                          "{{ioc}}")], unit="percentunit"),

            Row("The chosen IOC (the sum where several are chosen)"),
            TimeSeries("CPU time by kind of thread", "scan, callback, ca and so on, by the threads' names.",
                       [Query(halves("sum by (thread_class) (instance_class:epics_ioc_cpu_seconds:rate5m{CHOSEN})",
                                     "sum by (thread_class) (rate(epics_ioc_cpu_seconds_total{CHOSEN}[$__rate_interval]))"),
                              "{{thread_class}}")], unit="percentunit", width=8, stack=True,
                       colors={"scan": "blue", "callback": "teal", "once": "yellow", "ca": "orange", "pva": "magenta",
                               "main": "red", "other": "grey", "ended": "cyan"}),
            TimeSeries("Memory", "Resident memory.",
                       [Query(halves("sum(instance:epics_ioc_resident_memory_bytes:sum{CHOSEN})", "sum(epics_ioc_resident_memory_bytes{CHOSEN})"), "resident")], unit="bytes", width=8,
                       colors={"resident": "blue"}),
            TimeSeries("Threads and descriptors", "Threads, and open file descriptors beside how many may be open.",
                       [Query(halves("sum(instance:epics_ioc_threads:sum{CHOSEN})", "sum(epics_ioc_threads{CHOSEN})"), "threads"),
                        Query(halves("sum(instance:epics_ioc_open_fds:sum{CHOSEN})", "sum(epics_ioc_open_fds{CHOSEN})"), "open files")], unit="short", width=8,
                       colors={"threads": "orange", "open files": "blue"}),
            TimeSeries("Load of the scan lists", "How much of its period a pass through a periodic scan list takes, on "
                       "average; the worst IOC. Over 100 % the scan overruns.",
                       [Query(halves("max by (period) (instance_period:epics_ioc_scan_load:max5m{CHOSEN})",
                                     "max by (period) (ioc_period:epics_ioc_scan_load:mean5m{CHOSEN})"),
                              "{{period}} s")], unit="percentunit", width=8, colors=PERIODS),
            TimeSeries("Scan overruns", "Passes a second that took longer than their period, as the IOC counts them.",
                       [Query(halves("sum by (period) (instance_period:epics_ioc_scan_overruns:rate5m{CHOSEN})",
                                     "sum by (period) (rate(epics_ioc_scan_overruns_total{CHOSEN}[$__rate_interval]))"),
                              "{{period}} s")], unit=PASSES, width=8, at_least=1, colors=PERIODS),
            Table("Fullest queues", "The most that callback queues and scanOnce have held, as a part of what they can "
                  "hold; the eight fullest.",
                  [Query(f"topk(8, epics_ioc_queue_high_water_mark{{{IOCS}}} / epics_ioc_queue_capacity{{{IOCS}}})",
                         instant=True)], width=8, sort="Filled", steps=[(None, GOOD), (0.5, WARNING), (0.9, CRITICAL)],
                  columns=[Column("ioc", "IOC"), Column("queue", "Queue", width=75),
                           Column("Value", "Filled", width=150, unit="percentunit", decimals=1, bar=True, maximum=1)]),
            TimeSeries("Records by severity", "Records that are in alarm, by severity.",
                       [Query(halves("sum by (severity) (instance_severity:epics_ioc_records:sum{CHOSEN})",
                                     'sum by (severity) (epics_ioc_records_by_severity{CHOSEN, severity!="no_alarm"})'),
                              "{{severity}}")], unit="short", width=8, stack=True,
                       colors={"minor": "yellow", "major": "red", "invalid": "magenta"}),
            TimeSeries("Records that wait", "Active records (PACT), and those that are stuck.",
                       [Query(halves("sum(instance:epics_ioc_records_in_flight:sum{CHOSEN})", "sum(epics_ioc_records_in_flight{CHOSEN})"), "active"),
                        Query(halves("sum(instance:epics_ioc_records_stuck:sum{CHOSEN})", "sum(epics_ioc_records_stuck{CHOSEN})"), "stuck")], unit="short", width=8,
                       colors={"active": "blue", "stuck": "red"}),
            TimeSeries("Clients", "Connections, channels and subscriptions that Channel Access clients hold.",
                       [Query(halves("sum(instance:epics_circuits:sum{CHOSEN})", "sum(epics_circuits{CHOSEN})"), "connections"),
                        Query(halves("sum(instance:epics_channels:sum{CHOSEN})", "sum(epics_channels{CHOSEN})"), "channels"),
                        Query(halves("sum(instance:epics_monitors:sum{CHOSEN})", "sum(epics_monitors{CHOSEN})"), "subscriptions")], unit="short", width=8,
                       colors={"connections": "orange", "channels": "blue", "subscriptions": "magenta"}),
        ])
