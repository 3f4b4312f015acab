"""Dashboard Overview: for the wall, and for the first look."""
from board import EXPORTERS_DOWN, HOSTS, LAST_SEEN, NO_WRITERS, Board
from panels import CALM, CRITICAL, DOWN, STATES, UNSEEN, InAlarm, Lines, Query, Stat, link, named_host
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


def all_iocs() -> Lines:
    worst_first = list(reversed(STATES.items()))

    def of(value: str, state: str) -> Query:  # also where it is not known since when
        shown = f"topk(12, ioc:epics_ioc:state{OF_HOSTS}) == {value}"
        return Query(f"sort_desc({named_host(f'1000 * ({since(state)} and {ON} ({shown})) or {ON} 0 / 0 * ({shown})')})", f"{{{{ioc}}}} {state}, {{{{host}}}}")

    return Lines("IOCs, the worst first", "The 12 in the worst state: the state, the host, and since when it is so. One that somebody "
                 "stopped and that nobody expects is \"info\" for an hour.",
                 [of(value, state) for value, (state, _) in worst_first], colors=[color for _, (_, color) in worst_first],
                 size=14, unit="dateTimeFromNow", links=THIS_IOC)


def critical_alerts() -> Lines:
    critical = f'severity="critical", alertname=~"Epics.*|IocExporter.*", {HOSTS}'
    fire = f'ALERTS_FOR_STATE{{{critical}}} and ignoring (alertstate) ALERTS{{alertstate="firing", {critical}}}'
    return Lines("Which critical alerts", "The eight latest, and since when.",
                 [Query(f"1000 * topk(8, {named_host(f'max by (alertname, ioc, user, instance) ({fire})')})", "{{alertname}} {{ioc}} {{user}} {{host}}")],
                 colors=[CRITICAL], empty_when_healthy=True, links=THIS_IOC)


def changes() -> Lines:
    puts = f"max by (job, instance, ioc, user, client_host, client, pv) (epics_last_put_timestamp_seconds{OF_HOSTS})"
    of_people = f"{puts} > time() - 3600 unless {STEADY.format(HOSTS)}"
    return Lines("What people changed in the last hour", "The PV that each client wrote to last, of the eight clients that wrote last; without "
                 "programs that put more often than each two seconds.",
                 [Query(f"1000 * topk(8, topk by (user, client_host, client) (1, {of_people}))", "{{user}} {{pv}}")],
                 colors=[CALM], empty_when_healthy=True,
                 links=[link("Puts of this user", "ioc-exporter-puts", user="${__field.labels.user:percentencode}")])


def board() -> Board:
    return Board(
        uid="ioc-exporter-overview", title="EPICS / Overview", iocs=False, wall=True,
        description="For the wall, and for the first look: what does not run, what was written. Each number and line leads to its list.",
        panels=[
            count("IOCs down", "IOCs that have ended within the last day, and those that are expected and absent. Not those that somebody "
                  "stopped and that nobody expects.",
                  f"count(ioc:epics_ioc:state{OF_HOSTS} == 5)", "ioc-exporter-iocs", DOWN, width=5),
            count("Hosts not seen", "Exporters that do not answer: how their IOCs are is not known.",
                  f"count({EXPORTERS_DOWN})", "ioc-exporter-iocs", UNSEEN, width=5),
            count("Critical alerts", "Alerts of severity critical that fire.",
                  f'count(ALERTS{{alertstate="firing", severity="critical", alertname=~"Epics.*|IocExporter.*", {HOSTS}}})',
                  "ioc-exporter-iocs", CRITICAL, width=5),
            count("Forbidden puts, time shown", "Puts in the time shown that the site's policy forbids.",
                  f"sum({unexpected_in_range(HOSTS + ', action=' + chr(34) + 'forbidden' + chr(34))})", "ioc-exporter-puts", CRITICAL, width=5),
            InAlarm("Records in alarm", of=f"instance_severity:epics_ioc_records:sum{OF_HOSTS}", size=44, links=to("ioc-exporter-iocs")),
            all_iocs(), critical_alerts(), changes(),
        ])
