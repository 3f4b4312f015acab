"""Dashboard IOCs: the health of all on one page, and of the one that is chosen."""
from board import EXPORTERS_DOWN, HOSTS, IOCS, LAST_SEEN, NO_WRITERS, Board, halves
from panels import (CALM, COUNT, CRITICAL, Column, DOWN, GOOD, PASSES, PERIODS, Query, Ranked, Row, STATES, Stat, StateTimeline, Table,
                    TimeSeries, UNSEEN, WARNING, WHEN, firing_alerts, named_host)

# The 30 that need attention most, in every query of the table.
SHOWN = f"and on (job, instance, ioc) topk(30, ioc:epics_ioc:attention{{{IOCS}}})"


def column(expression: str) -> Query:
    return Query(f"sum by (job, instance, ioc) ({expression}) {SHOWN}", instant=True)

ON = "on (job, instance, ioc)"
OF_HEALTH = f'ioc!="", {NO_WRITERS}, {IOCS}'
# Those that have ended, those that a site expects and that are absent, and those of exporters that do not answer.
ENDED = f"epics_ioc_up{{{IOCS}}} == 0"
ABSENT = f"0 * epics_ioc_expected{{{IOCS}}} unless {ON} epics_ioc_up{{{IOCS}}}"
NOT_SEEN = f"ioc:epics_ioc:state{{{IOCS}}} == 4"
NOT_RUNNING = "Nothing: no chosen IOC runs, or is seen (see above)"
# All exporters that do not answer; where IOCs are chosen, those that watched them.
HOSTS_UNSEEN = (f"max by (job, instance) ({EXPORTERS_DOWN} and on (job, instance) up{{{HOSTS}, chosen=~\"($ioc)\"}}) "
                f"or max by (job, instance) ({NOT_SEEN})")
NOT_SEEN_SINCE = f"({NOT_SEEN}) / 4 * on (job, instance) group_left () {LAST_SEEN}"


def alerts_by(severity: str) -> str:
    return f'ALERTS{{alertstate="firing", severity="{severity}", {OF_HEALTH}}}'


def attention() -> Table:
    since = f"max by (job, instance, ioc, alertname) (ALERTS_FOR_STATE{{{OF_HEALTH}}})"
    worst = (f"topk by (job, instance, ioc) (1, max by (job, instance, ioc, alertname) (3 * {alerts_by('critical')} "
             f"or 2 * {alerts_by('warning')} or {alerts_by('info')}))")
    seen = f"unless {ON} ({NOT_SEEN})"
    unseen = f'label_replace({NOT_SEEN}, "alertname", "IocExporterDown", "", "")'
    return Table(
        "IOCs by what needs attention", "The 30 IOCs in the worst state, then with the most CPU time, and which alert makes it so, "
        "since when. Alerts about who writes to them are on Puts. A name leads to what this IOC does.",
        [column(f"ioc:epics_ioc:state{{{IOCS}}}"),
         Query(f"max by (job, instance, ioc, alertname) ({worst} {seen} or {unseen}) {SHOWN}", instant=True),
         column(f"1000 * ({since} and on (job, instance, ioc, alertname) {worst} {seen} or {NOT_SEEN_SINCE})"),
         column(f"ioc:epics_ioc_cpu_seconds:rate5m{{{IOCS}}}"),
         column(f"ioc:epics_ioc_processings:rate5m{{{IOCS}}}"),
         column(f"epics_ioc_records_stuck{{{IOCS}}}"),
         column(f"epics_ioc_resident_memory_bytes{{{IOCS}}}")],
        width=24, height=10, sort=["-State", "-CPU"],
        columns=[Column("ioc", "IOC", board=True),
                 Column("Value #A", "State", width=85, mapping=STATES),
                 Column("Value #C", "Since", width=150, unit=WHEN), Column("alertname", "Why", width=220, runbook=True),
                 Column("instance", "Exporter", width=200),
                 Column("Value #D", "CPU", width=80, unit="percentunit", decimals=1),
                 Column("Value #E", "Records processed/s", width=160, unit="none", decimals=1),
                 Column("Value #F", "Stuck", width=70, unit=COUNT),
                 Column("Value #G", "Memory", width=100, unit="bytes", decimals=0)])


def how(expression: str) -> str:
    """With the label "how": "signal SIGSEGV", or "exit 1"."""
    return f'label_join({expression}, "how", " ", "reason", "signal", "status")'


def not_running() -> Table:
    """Since when: as the alerts have it."""
    def ended_by(expression: str, reason: str) -> str:
        return f'label_replace({expression}, "reason", "{reason}", "", "")'

    exit_info = f"epics_ioc_last_exit_info{{{IOCS}}}"
    rows = (f"({ENDED}) * {ON} group_left (reason, status, signal) {exit_info} or {ON} {ended_by(f'({ENDED})', 'not known')} "
            f"or {ended_by(f'({ABSENT})', 'absent')} or {ended_by(f'({NOT_SEEN})', 'host not seen')}")
    # Those that have ended are not cut from many that are not seen.
    shown = f"and {ON} topk(50, ioc:epics_ioc:state{{{IOCS}}} >= 4)"
    since = f'{NOT_SEEN_SINCE} or max by (job, instance, ioc) (ALERTS_FOR_STATE{{alertname="EpicsIocDown", {IOCS}}})'
    return Table(
        "IOCs that do not run, or are not seen", "How those ended that have, where the exporter saw it, and since when the alert knows "
        "of it; 50 at most. Until they run again, or for a day. Without those that somebody stopped and that nobody expects.",
        [Query(named_host(f"{how(rows)} {shown}"), instant=True), Query(f"1000 * ({since}) {shown}", instant=True)],
        width=12, height=8, sort=["-Since"], empty_when_healthy=True,
        columns=[Column("ioc", "IOC", board=True), Column("how", "Ended by", width=130), Column("Value #B", "Since", width=150, unit=WHEN),
                 Column("host", "Host", width=110)])


def availability() -> Table:
    share = f"avg_over_time(ioc:epics_ioc_up:avg1h{{{IOCS}}}[30d:1h])"
    starts = f"round(sum_over_time(ioc:epics_ioc_restarts:increase1h{{{IOCS}}}[30d:1h]))"
    # One restart is as bad as a thousandth of the time: one that is short is not seen in the share.
    shown = f"topk(20, {starts} / 1000 - {share} > -1)"
    return Table(
        "Availability and restarts, 30 days", "The 20 IOCs that ran the smallest part of the time in which their exporter answered, or were "
        "started again most often: by what (procServ, systemd, a container's runtime; empty where that is not known), and how they ended "
        "the last time. As far back as Prometheus remembers.",
        [Query(f"{share} and {ON} {shown}", instant=True), Query(f"{starts} and {ON} {shown}", instant=True),
         Query(f"max by (job, instance, ioc, supervisor) (epics_ioc_info{{{IOCS}}}) and {ON} {shown}", instant=True),
         Query(how(f"max by (job, instance, ioc, reason, status, signal) (epics_ioc_last_exit_info{{{IOCS}}}) and {ON} {shown}"), instant=True)],
        sort=["Up", "-Restarts"], empty_when_healthy=True,
        columns=[Column("ioc", "IOC", board=True), Column("Value #A", "Up", width=80, unit="percentunit", decimals=2),
                 Column("Value #B", "Restarts", width=75, unit=COUNT, decimals=0),
                 Column("supervisor", "Started by", width=90), Column("how", "Ended by", width=130)])


def growing() -> Table:
    """Of IOCs that ran all day: what one takes at its start is not lost."""
    grows = (f"topk(10, 86400 * deriv(epics_ioc_resident_memory_bytes{{{IOCS}}}[1d:15m]) > 1e6 "
             f"and {ON} epics_ioc_start_time_seconds{{{IOCS}}} < time() - 86400)")
    return Table(
        "Memory that grows", "IOCs that have run for a day or more, by how much their resident memory grew in it: the ten with most, from 1 MB on.",
        [Query(grows, instant=True), Query(f"epics_ioc_resident_memory_bytes{{{IOCS}}} and {ON} {grows}", instant=True)],
        sort=["-A day"], empty_when_healthy=True,
        columns=[Column("ioc", "IOC", board=True), Column("Value #A", "A day", width=100, unit="bytes", decimals=1),
                 Column("Value #B", "Now", width=100, unit="bytes", decimals=1), Column("instance", "Exporter", width=160)])


def links_down() -> Table:
    def links(state: str) -> str:
        return f'sum by (job, instance, ioc) (epics_ioc_ca_links{{{IOCS}, state="{state}"}})'

    def times(metric: str) -> str:
        return f"sum by (job, instance, ioc) (increase({metric}{{{IOCS}}}[$__range]))"

    disconnects = times("epics_ioc_ca_link_disconnects_total")
    shown = f"and {ON} topk(20, {links('disconnected')} + {disconnects} / 1e6 > 0)"
    return Table(
        "Channel Access links that are down", "The 20 IOCs with most links of records that are down, then with most disconnects; writes that "
        "were lost because a later one took their place. In the time shown. Names: ioc_exporter links IOC.",
        [Query(f"{expression} {shown}", instant=True) for expression in
         (links("disconnected"), links("connected"), disconnects, times("epics_ioc_ca_link_lost_writes_total"))],
        width=24, height=6, sort=["-Down", "-Disconnects"], empty_when_healthy=True,
        columns=[Column("ioc", "IOC", board=True), Column("Value #A", "Down", width=80, unit=COUNT, decimals=0),
                 Column("Value #B", "Connected", width=105, unit=COUNT, decimals=0),
                 Column("Value #C", "Disconnects", width=130, unit=COUNT, decimals=0),
                 Column("Value #D", "Lost writes", width=110, unit=COUNT, decimals=0)])


def count_state(title: str, value: str, color: str, text: str) -> Stat:
    return Stat(title, text, [Query(f"count(ioc:epics_ioc:state{{{IOCS}}} {value}) or vector(0)")], width=3,
                steps=[(None, CALM), (1, color)])


def board() -> Board:
    return Board(
        uid="ioc-exporter-iocs", title="EPICS / IOCs", iocs=True,
        description="The health of all IOCs on one page. Choose one above, or click its name, for what it does.",
        panels=[
            Stat("IOCs up", "IOCs that run.", [Query(f"count(epics_ioc_up{{{IOCS}}} == 1) or vector(0)")], width=3),
            count_state("IOCs down", "== 5", DOWN, "IOCs that have ended, within the last day, and those that are expected and absent. Not "
                        "those that somebody stopped and that nobody expects."),
            Stat("Hosts not seen", "Exporters that do not answer: how their IOCs are is not known. Those of the chosen IOCs, where not all are.",
                 [Query(f"count({HOSTS_UNSEEN}) or vector(0)")], width=3, steps=[(None, CALM), (1, UNSEEN)]),
            count_state("Critical", "== 3", CRITICAL, "IOCs that run, with a critical alert that fires; without those about who writes."),
            count_state("Warning", "== 2", WARNING, "IOCs whose worst alert that fires is a warning; without those about who writes."),
            Stat("Restarts, time shown", "Starts of IOCs again in the time shown.",
                 [Query(f"sum(increase(epics_ioc_restarts_total{{{IOCS}}}[$__range])) or vector(0)")], width=4, steps=[(None, CALM), (0.5, WARNING)]),
            Stat("Records", "Records of all chosen IOCs.", [Query(f"sum(epics_ioc_records{{{IOCS}}}) or vector(0)")], width=5),

            attention(),
            firing_alerts("Alerts that fire", "Alerts about IOCs, without those about who writes, and about exporters that do not answer; "
                          "one row for those of one IOC. An alert links to what to do.",
                          f'{HOSTS}, ioc=~"$ioc|", {NO_WRITERS}, alertname=~"Epics.*|IocExporterDown"',
                          "job, instance, ioc", width=12, height=8,
                          of_hosts=True, columns=[Column("ioc", "IOC", width=105, board=True)]),
            not_running(),
            StateTimeline("Health over time", "The state of the 15 IOCs that need attention most at the end of the "
                          "time shown.",
                          [Query(f"ioc:epics_ioc:state{{{IOCS}}} and on (job, instance, ioc) "
                                 f"topk(15, ioc:epics_ioc:attention{{{IOCS}}} @ end())", "{{ioc}}")],
                          mapping=STATES, width=12, height=8),
            Ranked("CPU time", "The six IOCs with the most CPU time at the end of the time shown, in cores.",
                   [Query("sum by (instance, ioc) (ioc:epics_ioc_cpu_seconds:rate5m{" + IOCS + "}@END)",
                          "{{ioc}}")], unit="percentunit"),
            availability(),
            growing(),
            links_down(),

            Row("The chosen IOC (the sum where several are chosen)"),
            TimeSeries("CPU time by kind of thread", "scan, callback, ca and so on, by the threads' names.",
                       [Query(halves("sum by (thread_class) (instance_class:epics_ioc_cpu_seconds:rate5m{CHOSEN})",
                                     "sum by (thread_class) (rate(epics_ioc_cpu_seconds_total{CHOSEN}[$__rate_interval]))"),
                              "{{thread_class}}")], unit="percentunit", without=NOT_RUNNING, width=8, stack=True,
                       colors={"scan": "blue", "callback": "teal", "once": "yellow", "ca": "orange", "pva": "magenta",
                               "main": "red", "other": "grey", "ended": "cyan"}),
            TimeSeries("Memory", "Resident memory.",
                       [Query(halves("sum(instance:epics_ioc_resident_memory_bytes:sum{CHOSEN})", "sum(epics_ioc_resident_memory_bytes{CHOSEN})"), "resident")], unit="bytes", without=NOT_RUNNING, width=8,
                       colors={"resident": "blue"}),
            TimeSeries("Threads and descriptors", "Threads, and open file descriptors beside how many may be open.",
                       [Query(halves("sum(instance:epics_ioc_threads:sum{CHOSEN})", "sum(epics_ioc_threads{CHOSEN})"), "threads"),
                        Query(halves("sum(instance:epics_ioc_open_fds:sum{CHOSEN})", "sum(epics_ioc_open_fds{CHOSEN})"), "open files")], unit="short", without=NOT_RUNNING, width=8,
                       colors={"threads": "orange", "open files": "blue"}),
            TimeSeries("Load of the scan lists", "How much of its period a pass through a periodic scan list takes, on "
                       "average; the worst IOC. Over 100 % the scan overruns.",
                       [Query(halves("max by (period) (instance_period:epics_ioc_scan_load:max5m{CHOSEN})",
                                     "max by (period) (ioc_period:epics_ioc_scan_load:mean5m{CHOSEN})"),
                              "{{period}} s")], unit="percentunit", without=NOT_RUNNING, width=8, colors=PERIODS),
            TimeSeries("Scan overruns", "Passes a second that took longer than their period, as the IOC counts them.",
                       [Query(halves("sum by (period) (instance_period:epics_ioc_scan_overruns:rate5m{CHOSEN})",
                                     "sum by (period) (rate(epics_ioc_scan_overruns_total{CHOSEN}[$__rate_interval]))"),
                              "{{period}} s")], unit=PASSES, without=NOT_RUNNING, width=8, colors=PERIODS),
            Table("Fullest queues, since the IOC started", "The most that callback queues and scanOnce have held, as a part of what they can "
                  "hold; the eight fullest.",
                  [Query(f"topk(8, epics_ioc_queue_high_water_mark{{{IOCS}}} / epics_ioc_queue_capacity{{{IOCS}}})",
                         instant=True)], without=NOT_RUNNING, width=8, sort=["-Filled"], steps=[(None, GOOD), (0.5, WARNING), (0.9, CRITICAL)],
                  columns=[Column("ioc", "IOC", board=True), Column("queue", "Queue", width=75),
                           Column("Value", "Filled", width=150, unit="percentunit", decimals=1, bar=True, maximum=1)]),
            TimeSeries("Records by severity", "Records that are in alarm, by severity.",
                       [Query(halves("sum by (severity) (instance_severity:epics_ioc_records:sum{CHOSEN})",
                                     'sum by (severity) (epics_ioc_records_by_severity{CHOSEN, severity!="no_alarm"})'),
                              "{{severity}}")], unit="short", without=NOT_RUNNING, width=8, stack=True,
                       colors={"minor": "yellow", "major": "red", "invalid": "magenta"}),
            TimeSeries("Records that wait", "Active records (PACT), those of them that are stuck, and those that iocInit or their first "
                       "processing left active (never processed).",
                       [Query(halves("sum(instance:epics_ioc_records_in_flight:sum{CHOSEN})", "sum(epics_ioc_records_in_flight{CHOSEN})"), "active"),
                        Query(halves("sum(instance:epics_ioc_records_stuck:sum{CHOSEN})", "sum(epics_ioc_records_stuck{CHOSEN})"), "stuck"),
                        Query(halves("sum(instance:epics_ioc_records_never_processed:sum{CHOSEN})", "sum(epics_ioc_records_never_processed{CHOSEN})"), "never processed")],
                       unit="short", without=NOT_RUNNING, width=8, colors={"active": "blue", "stuck": "red", "never processed": "orange"}),
            TimeSeries("Clients", "Connections, channels and subscriptions that Channel Access clients hold.",
                       [Query(halves("sum(instance:epics_circuits:sum{CHOSEN})", "sum(epics_circuits{CHOSEN})"), "connections"),
                        Query(halves("sum(instance:epics_channels:sum{CHOSEN})", "sum(epics_channels{CHOSEN})"), "channels"),
                        Query(halves("sum(instance:epics_monitors:sum{CHOSEN})", "sum(epics_monitors{CHOSEN})"), "subscriptions")], unit="short", without=NOT_RUNNING, width=8,
                       colors={"connections": "orange", "channels": "blue", "subscriptions": "magenta"}),
        ])
