"""Dashboard Drivers: ports, protocols, state sets, save sets and plugins of the chosen IOCs."""
from board import IOCS, Board
from panels import (CALM, COUNT, CRITICAL, Column, DOWN, GOOD, Query, Ranked, Row, Stat, Table, TimeSeries, WARNING, WHEN,
                    firing_alerts)

REQUESTS, EXCHANGES, TRANSITIONS, FRAMES = (f"suffix: {what}/s" for what in ("requests", "exchanges", "transitions", "frames"))
CONNECTED = {"0": ("no", DOWN), "1": ("yes", GOOD)}
SAVED = {"0": ("not yet", WARNING), "1": ("failed", CRITICAL), "2": ("warning", WARNING), "3": ("warning", WARNING), "4": ("ok", GOOD)}
RECORD = IOCS + ', record${records:raw}'
RESULTS = {"success": "blue", "mismatch": "magenta", "reply_timeout": "orange", "read_timeout": "yellow", "offline": "red",
           "lock_timeout": "teal", "write_timeout": "purple", "format_error": "pink", "aborted": "grey", "fault": "cyan"}
# Without the sentence the panel of a site that has no such module would look broken.
NO_ASYN, NO_STREAM = "No chosen IOC has asyn", "No chosen IOC has StreamDevice"
NO_SEQ, NO_SAVE = "No chosen IOC has a sequencer", "No chosen IOC has autosave"
PORT = [Column("port", "Port"), Column("ioc", "IOC", width=200, board=True)]


# Those that are not connected, and then any.
SHOWN = f"and on (ioc, port) bottomk(50, min by (ioc, port) (epics_asyn_connected{{{IOCS}}}))"


def by_port(expression: str) -> Query:
    return Query(f"sum by (ioc, port) ({expression}) {SHOWN}", instant=True)


SETS = f"bottomk(50, max by (ioc, file) (epics_autosave_status{{{IOCS}}}))"


def rate(name: str, window: str = "5m") -> str:
    return f"rate({name}{{{IOCS}}}[{window}])"


def share(histogram: str) -> str:
    """Seconds a second, as text and protobuf have it."""
    over = f"{{{IOCS}}}[$__rate_interval]@END"
    return f"(sum by (ioc, port) (rate({histogram}_sum{over}) or histogram_sum(rate({histogram}{over}))))"


def mean(histogram: str, window: str = "5m") -> str:
    over = f"{{{IOCS}}}[{window}]"
    return (f"sum by (ioc, port) (rate({histogram}_sum{over}) or histogram_sum(rate({histogram}{over}))) "
            f"/ (sum by (ioc, port) (rate({histogram}_count{over}) or histogram_count(rate({histogram}{over}))) > 0) {SHOWN}")


def board() -> Board:
    return Board(
        uid="ioc-exporter-drivers", title="EPICS / Drivers", iocs=True,
        description="What stands behind the records: ports and their devices, protocols, state sets, save sets, plugins.",
        texts={"record": "Record (expression, or !expression)"},
        panels=[
            Stat("Ports", "Ports of asyn.", [Query(f"count(epics_asyn_connected{{{IOCS}}}) or vector(0)")], width=3),
            Stat("Ports not connected", "Ports of asyn that are enabled and not connected to their device.",
                 [Query(f"count(epics_asyn_connected{{{IOCS}}} == 0 and "
                        f"on (job, instance, ioc, port) epics_asyn_enabled{{{IOCS}}} == 1) or vector(0)")],
                 steps=[(None, CALM), (1, CRITICAL)]),
            Stat("Requests that wait", "Requests in the queues of all ports.", [Query(f"sum(epics_asyn_queued_requests{{{IOCS}}}) or vector(0)")]),
            Stat("Exchanges that fail, 5 min", "Part of all exchanges with devices that did not succeed (StreamDevice).",
                 [Query(f'(sum(rate(epics_stream_exchanges_total{{{IOCS}, result!="success"}}[5m])) or vector(0)) '
                        f"/ (sum(rate(epics_stream_exchanges_total{{{IOCS}}}[5m])) > 0)")],
                 unit="percentunit", decimals=1, width=5, steps=[(None, CALM), (0.5, WARNING)], without="none"),
            Stat("Save sets that fail", "Save sets of autosave that could not be written, or were not yet.",
                 [Query(f"count(epics_autosave_status{{{IOCS}}} < 2) or vector(0)")], steps=[(None, CALM), (1, WARNING)]),
            Stat("State sets", "State sets of the sequencer's programs.", [Query(f"count(epics_seq_state_info{{{IOCS}}}) or vector(0)")]),

            firing_alerts("Alerts that fire", "Alerts about ports, exchanges, state sets and save sets. An alert links to what to do.",
                          f'{IOCS}, alertname=~"Epics(Asyn|Stream|State|Autosave).*"', "job, instance, ioc", width=24, height=6,
                          columns=[Column("ioc", "IOC", width=200, board=True)]),

            Row("Ports (asyn)"),
            Table("Ports", "50 ports: those that are not connected first. Wait and call: the mean of five minutes; empty where there was none, or "
                  "where calls are counted and not timed.",
                  [Query(f"bottomk(50, min by (ioc, port) (epics_asyn_connected{{{IOCS}}}))", instant=True), by_port(f"epics_asyn_queued_requests{{{IOCS}}}"), by_port(rate("epics_asyn_requests_total")),
                   by_port(rate("epics_asyn_request_failures_total")), Query(mean("epics_asyn_queue_wait_seconds"), instant=True),
                   Query(mean("epics_asyn_call_duration_seconds"), instant=True)],
                  width=24, sort=["Connected", "-Requests/s"], without=NO_ASYN,
                  columns=[Column("Value #A", "Connected", width=95, mapping=CONNECTED), *PORT, Column("Value #B", "Waiting", width=110, unit=COUNT),
                           Column("Value #C", "Requests/s", width=130, unit="none", decimals=1),
                           Column("Value #D", "Refused/s", width=130, unit="none", decimals=2),
                           Column("Value #E", "Wait", width=130, unit="s", decimals=1),
                           Column("Value #F", "Call", width=130, unit="s", decimals=1)]),
            Ranked("Busiest ports", "The six ports with the most requests at the end of the time shown.",
                   [Query(f"sum by (ioc, port) (rate(epics_asyn_requests_total{{{IOCS}}}[$__rate_interval]@END))", "{{port}} ({{ioc}})")],
                   unit=REQUESTS, without=NO_ASYN, width=8, height=9),
            Ranked("Time in calls", "The six ports whose thread is in calls of drivers most, as a part of the time: near 100 % requests wait. "
                   "Without calls that are not timed, as those of StreamDevice.",
                   [Query(share("epics_asyn_call_duration_seconds"), "{{port}} ({{ioc}})")], unit="percentunit", without=NO_ASYN, width=8, height=9),
            Ranked("Longest queues", "The six ports for which most requests wait at the end of the time shown.",
                   [Query(f"sum by (ioc, port) (epics_asyn_queued_requests{{{IOCS}}}@END)", "{{port}} ({{ioc}})")],
                   unit=COUNT, without=NO_ASYN, width=8, height=9),

            Row("Protocols (StreamDevice)"),
            TimeSeries("Exchanges, by result", "Exchanges with devices that have ended.",
                       [Query(f"sum by (result) (rate(epics_stream_exchanges_total{{{RECORD}}}[$__rate_interval]))", "{{result}}")],
                       unit=EXCHANGES, stack=True, colors=RESULTS, without=NO_STREAM),
            Table("Records whose exchanges fail, 5 min", "The 20 records with the most exchanges that did not succeed, and why.",
                  [Query(f'topk(20, sum by (ioc, record, result) (rate(epics_stream_exchanges_total{{{RECORD}, result!="success"}}[5m])) > 0)',
                         instant=True)], sort=["-Exchanges/s"], empty_when_healthy=True,
                  columns=[Column("record", "Record", to_puts="pv", values=True), Column("Value", "Exchanges/s", width=109, unit="none", decimals=2),
                           Column("result", "Result", width=95), Column("ioc", "IOC", width=105, board=True)]),

            Row("State sets (sequencer)"),
            Table("States", "The state of 50 state sets, and since when they are in it: the longest first.",
                  [Query(f"bottomk(50, 1000 * epics_seq_state_entered_timestamp_seconds{{{IOCS}}} * on (job, instance, ioc, program, "
                         f"program_instance, state_set) group_left (state) epics_seq_state_info{{{IOCS}}})", instant=True)],
                  sort=["Since"], without=NO_SEQ,
                  columns=[Column("program", "Program", width=95), Column("state_set", "State set", width=85), Column("state", "State"),
                           Column("Value", "Since", width=150, unit=WHEN), Column("ioc", "IOC", width=125, board=True)]),
            Ranked("Transitions", "The six state sets that change their state most at the end of the time shown.",
                   [Query(f"sum by (ioc, program, state_set) (rate(epics_seq_transitions_total{{{IOCS}}}[$__rate_interval]@END))",
                          "{{program}} {{state_set}} ({{ioc}})")], unit=TRANSITIONS, without=NO_SEQ),

            Row("Save sets (autosave) and plugins (areaDetector)"),
            Table("Save sets", "50 save sets: those in the worst state first. A set that is saved on change may be old.",
                  [Query(SETS, instant=True),
                   Query(f"1000 * max by (ioc, file) (epics_autosave_last_save_timestamp_seconds{{{IOCS}}}) and on (ioc, file) {SETS}",
                         instant=True),
                   Query(f"max by (ioc, file) (epics_autosave_unconnected_pvs{{{IOCS}}}) and on (ioc, file) {SETS}", instant=True)],
                  sort=["Status", "Saved"], without=NO_SAVE,
                  columns=[Column("Value #A", "Status", width=75, mapping=SAVED), Column("file", "File"), Column("Value #B", "Saved", width=145, unit=WHEN),
                           Column("ioc", "IOC", width=125, board=True), Column("Value #C", "Unconnected", width=105, unit=COUNT)]),
            Ranked("Frames that plugins do not work on", "The six plugins that get most frames that they do not work on: dropped, throttled or "
                   "waiting, a second.",
                   [Query(f"clamp_min(sum by (ioc, port) (rate(epics_areadetector_frames_offered_total{{{IOCS}}}[$__rate_interval]@END)) - "
                          f"sum by (ioc, port) (rate(epics_areadetector_frames_processed_total{{{IOCS}}}[$__rate_interval]@END)), 0)",
                          "{{port}} ({{ioc}})")], unit=FRAMES, without="No chosen IOC has plugins of areaDetector"),
        ])
