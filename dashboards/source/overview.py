"""Dashboard Overview: for the wall, and for the first look."""
from board import EXPORTERS_DOWN, HOSTS, LAST_SEEN, NO_WRITERS, Board
from panels import CALM, CRITICAL, DOWN, STATES, UNSEEN, InAlarm, Latest, Query, Stat, Tiles, link, named_host
from puts import STEADY, unexpected_in_range

OF_HOSTS = f"{{{HOSTS}}}"
ON = "on (job, instance, ioc)"
THIS_IOC = [link("${__field.labels.ioc}", "ioc-exporter-iocs", instance="var-instance=${__field.labels.instance:percentencode}",
                 ioc="${__field.labels.ioc:percentencode}")]


def to(board: str) -> list:
    return [link("The list", board)]


def count(title: str, text: str, query: str, board: str, color: str, **options) -> Stat:
    return Stat(title, text, [Query(f"{query} or vector(0)")], steps=[(None, CALM), (0.5, color)], size=44, links=to(board), **options)


def since(state: str) -> str:
    """When it began: of an alert as Prometheus has it, of an IOC that runs well its start."""
    def alert(selector: str) -> str:
        return f"min by (job, instance, ioc) (ALERTS_FOR_STATE{{{selector}, {HOSTS}}})"

    if state == "not seen":
        return f"0 * last_over_time(ioc:epics_ioc:state{OF_HOSTS}[5m]) + on (job, instance) group_left () {LAST_SEEN}"
    if state == "down":
        return alert('alertname="EpicsIocDown"')
    return "epics_ioc_start_time_seconds" + OF_HOSTS if state == "ok" else alert(f'severity="{state}", ioc!="", {NO_WRITERS}')


def tiles() -> Tiles:
    worst_first = list(reversed(STATES.items()))

    def of(value: str, state: str) -> Query:  # also where it is not known since when
        shown = f"topk(48, ioc:epics_ioc:state{OF_HOSTS}) == {value}"
        return Query(f"sort_desc({named_host(f'1000 * ({since(state)} and {ON} ({shown})) or {ON} 0 / 0 * ({shown})')})", f"{{{{ioc}}}} {state}, {{{{host}}}}")

    return Tiles("IOCs, the worst first", "A tile for each IOC, of 48 in the worst state: its state, the host, and since when it is so. One "
                 "that somebody stopped and that nobody expects has none.",
                 [of(value, state) for value, (state, _) in worst_first], colors=[color for _, (_, color) in worst_first],
                 width=24, height=12, links=THIS_IOC)


def critical_alerts() -> Latest:
    critical = f'severity="critical", alertname=~"Epics.*|IocExporter.*", {HOSTS}'
    fire = f'ALERTS_FOR_STATE{{{critical}}} and ignoring (alertstate) ALERTS{{alertstate="firing", {critical}}}'
    return Latest("Which critical alerts", "The eight latest, and since when.",
                  [Query(f"1000 * topk(8, {named_host(f'max by (alertname, ioc, instance) ({fire})')})", "{{alertname}} {{ioc}} {{host}}")],
                  colors=[CRITICAL], width=12, height=12, empty_when_healthy=True, links=THIS_IOC)


def changes() -> Latest:
    puts = f"max by (job, instance, ioc, user, client_host, client, pv) (epics_last_put_timestamp_seconds{OF_HOSTS})"
    of_people = f"{puts} > time() - 3600 unless {STEADY.format(HOSTS)}"
    return Latest("What people changed in the last hour", "The PV that each client wrote to last, of the eight clients that wrote last; without "
                  "programs that put more often than each two seconds.",
                  [Query(f"1000 * topk(8, topk by (user, client_host, client) (1, {of_people}))", "{{user}} {{pv}}")],
                  colors=[CALM], width=12, height=12, empty_when_healthy=True,
                  links=[link("Puts of this user", "ioc-exporter-puts", user="${__field.labels.user:percentencode}")])


def board() -> Board:
    return Board(
        uid="ioc-exporter-overview", title="EPICS / Overview", iocs=False, wall=True,
        description="For the wall, and for the first look: what does not run, what was written. Each number and tile leads to its list.",
        panels=[
            count("IOCs down", "IOCs that have ended within the last day, and those that are expected and were never seen. Not those that "
                  "somebody stopped and that nobody expects.",
                  f"count(ioc:epics_ioc:state{OF_HOSTS} == 5)", "ioc-exporter-iocs", DOWN, width=5),
            count("Hosts not seen", "Exporters that do not answer: how their IOCs are is not known.",
                  f"count({EXPORTERS_DOWN})", "ioc-exporter-iocs", UNSEEN, width=5),
            count("Critical alerts", "Alerts of severity critical that fire.",
                  f'count(ALERTS{{alertstate="firing", severity="critical", alertname=~"Epics.*|IocExporter.*", {HOSTS}}})',
                  "ioc-exporter-iocs", CRITICAL, width=5),
            count("Forbidden puts, time shown", "Puts in the time shown that the site's policy forbids.",
                  f"sum({unexpected_in_range(HOSTS + ', action=' + chr(34) + 'forbidden' + chr(34))})", "ioc-exporter-puts", CRITICAL, width=5),
            InAlarm("Records in alarm", of=f"instance_severity:epics_ioc_records:sum{OF_HOSTS}", size=44, links=to("ioc-exporter-iocs")),
            tiles(), critical_alerts(), changes(),
        ])
