"""Dashboard Records: what the records of the chosen IOCs do."""
from board import IOCS, Board
from panels import CALLS, CHANGES, COUNT, Column, Heatmap, InAlarm, PROCESSED, Query, Row, Stat, Table, TimeSeries, WRITES, exporter_url

CAUSES = {"scan": "blue", "link": "cyan", "callback": "teal", "io_intr": "green", "event": "pink", "direct": "purple", "ca": "orange",
          "pva": "magenta", "once": "yellow", "main": "red", "other": "grey"}


# Single records: those that were asked for, without what is summed under (other).
RECORD = IOCS + ', record${records:raw}, record!="(other)"'


# With --series=site durations have the label record_type in place of record.
BY_TYPE = "Where the exporter runs with --series=site, a row is a record type of an IOC."
TYPE = Column("record_type", "Type", width=64)


def mean(histogram: str) -> str:
    """The ten records with the largest mean, classic or native."""
    over = f"{{{RECORD}}}[$__range]"
    return (f"topk(10, rate({histogram}_sum{over}) / (rate({histogram}_count{over}) > 0) "
            f"or histogram_sum(rate({histogram}{over})) / (histogram_count(rate({histogram}{over})) > 0))")


def board() -> Board:
    return Board(
        uid="ioc-exporter-records", title="EPICS / Records", iocs=True,
        description="What the records of the chosen IOCs do: how often, why, how long, and what they set off.",
        texts={"record": "Record (expression, or !expression)"},
        panels=[
            Stat("Records", "Records in the databases of the chosen IOCs.", [Query(f"sum(epics_ioc_records{{{IOCS}}})")]),
            Stat("Processed/s, 5 min", "Times a second that a record was processed, of the last five minutes.",
                 [Query(f"sum(ioc:epics_ioc_processings:rate5m{{{IOCS}}})")], unit="none", decimals=1),
            Stat("CPU, 5 min", "Time that the IOCs spend in their records, as a part of one core, of the last five minutes.",
                 [Query(f"sum(ioc:epics_record_process_self_seconds:rate5m{{{IOCS}}})")], unit="percentunit", decimals=2, without="not timed"),
            Stat("Skipped/s, 5 min", "Calls a second that processed nothing, of the last five minutes: the record was active or disabled.",
                 [Query(f"sum(ioc_reason:epics_record_process_skipped:rate5m{{{IOCS}}}) or vector(0)")], unit="none", decimals=2),
            InAlarm("In alarm", of=f'epics_ioc_records_by_severity{{{IOCS}, severity!="no_alarm"}}'),
            Stat("Timed", "How much of the time is timed: all, 1 second in 16, or 1 in 64, which stands for the others in durations. "
                 "All processings are counted.", [Query(f"min(epics_ioc_timed_ratio{{{IOCS}}})")], unit="percentunit"),

            Table("Records that have thrown", "Records whose processing an exception has left: Base keeps their lock until the IOC is "
                  "restarted. The ten worst.",
                  [Query(f'topk(10, sum by (ioc, record) (epics_record_unwound_total{{{RECORD}}}) > 0)', instant=True)],
                  width=24, height=4, empty_when_healthy=True,
                  columns=[Column("record", "Record", width=360, to_puts="pv", values=True), Column("ioc", "IOC", width=120, board=True),
                           Column("Value", "Exceptions", width=110, unit=COUNT, decimals=0)]),

            Row("How often, and why"),
            TimeSeries("Records processed, by cause", "What had the records processed: a periodic scan, a link of another "
                       "record, an event or I/O interrupt, another callback, a client, scanOnce, a driver "
                       "without dbProcess (direct).",
                       [Query(f'sum by (cause) (rate(epics_ioc_processings_total{{{IOCS}}}[$__rate_interval]))',
                              "{{cause}}")],
                       unit=PROCESSED, stack=True, colors=CAUSES),
            TimeSeries("Skipped, by reason", "active: the record still waited for its completion. disabled: DISA was "
                       "equal to DISV.",
                       [Query(f"sum by (reason) (ioc_reason:epics_record_process_skipped:rate5m{{{IOCS}}})", "{{reason}}")],
                       unit=CALLS, colors={"active": "orange", "disabled": "blue"}),
            TimeSeries("Writes to records, by source", "What wrote to fields of records: clients (ca, pva), links of records, Channel "
                       "Access clients in the IOC itself such as a sequencer (inside), its shell, device support and drivers (other).",
                       [Query(f"sum by (source) (rate(epics_record_writes_total{{{IOCS}}}[$__rate_interval]))", "{{source}}")],
                       unit=WRITES, stack=True,
                       colors={"link": "cyan", "inside": "teal", "ca": "orange", "pva": "magenta", "shell": "red", "other": "grey"}),
            TimeSeries("Changes of severity", "Alarm transitions of all records, a second, by the severity that they "
                       "went to.",
                       [Query(f"sum by (severity) (rate(epics_ioc_alarm_transitions_total{{{IOCS}}}[$__rate_interval]))",
                              "{{severity}}")], unit=CHANGES,
                       colors={"no_alarm": "blue", "minor": "yellow", "major": "red", "invalid": "magenta"}),

            Row("How long"),
            Heatmap("How long processing a record takes", "How long dbProcess took, with the records that were processed in turn: "
                    "the further along the scale, the more of them.",
                    [Query(f"sum by (le) (ioc_le:epics_record_process_duration_seconds_bucket:rate5m{{{IOCS}}}) "
                    f"or sum(rate(epics_record_process_duration_seconds{{{IOCS}}}[$__rate_interval]))")], unit="s"),
            Table("Slowest by self time, time shown", "The ten records that take most of the IOC's time, without those that they "
                  "processed in turn, as a part of one core; average of the time shown. " + BY_TYPE,
                  [Query(exporter_url("topk(10, sum by (instance, ioc, record, record_type) "
                                      f"(rate(epics_record_process_self_seconds_total{{{RECORD}}}[$__range])))"), instant=True)], sort=["-CPU"],
                  columns=[Column("record", "Record", to_puts="pv", values=True), TYPE, Column("ioc", "IOC", width=105, board=True),
                           Column("Value", "CPU", width=120, unit="percentunit", decimals=3, bar=True, traced=True), Column("url", "url", hidden=True)]),
            Table("Records that take longest, time shown", "The ten records with the longest mean duration of dbProcess in the time "
                  "shown, with the records that they processed in turn. " + BY_TYPE,
                  [Query(exporter_url(mean("epics_record_process_duration_seconds")), instant=True)], sort=["-Mean"],
                  without="Not timed: --records.durations=off",
                  columns=[Column("record", "Record", to_puts="pv", values=True), TYPE, Column("ioc", "IOC", width=105, board=True),
                           Column("Value", "Mean", width=120, unit="s", decimals=1, bar=True, traced=True), Column("url", "url", hidden=True)]),
            Table("Asynchronous records: longest completions, time shown", "The ten records that take longest from the start of "
                  "dbProcess to their completion; mean of the time shown. " + BY_TYPE,
                  [Query(exporter_url(mean("epics_record_completion_duration_seconds")), instant=True)], sort=["-Mean"],
                  without="No asynchronous record has completed (or --records.durations=off)",
                  columns=[Column("record", "Record", to_puts="pv", values=True), TYPE, Column("ioc", "IOC", width=105, board=True),
                           Column("Value", "Mean", width=120, unit="s", decimals=2, bar=True, traced=True), Column("url", "url", hidden=True)]),

            Row("What sets off what"),
            Table("Causes of single records, 5 min", "What sets off the 20 busiest records. Only where the exporter runs with "
                  "--records.causes.",
                  [Query(f"topk(20, sum by (ioc, record, cause) (rate(epics_record_process_cause_total{{{RECORD}}}[5m])) > 0)",
                         instant=True)], sort=["-Records processed/s"],
                  without="Counted with --records.causes",
                  columns=[Column("record", "Record", to_puts="pv"), Column("ioc", "IOC", width=120, board=True), Column("cause", "Cause", width=120),
                           Column("Value", "Records processed/s", width=160, unit="none", decimals=1)]),
        ])
