"""Dashboard Overview: for the wall, and for the first look."""
from board import EXPORTERS_DOWN, HOSTS, Board
from panels import CALM, CRITICAL, STATES, WARNING, Latest, Query, Stat, Tiles, WHEN, link
from puts import unexpected_in_range

OF_HOSTS = f"{{{HOSTS}}}"
NAMED = 100  # IOCs: tiles of more have no room for names


def to(board: str, **chosen: str) -> list:
    return [link("The list", board, instance="${instance:queryparam}", **chosen)]


def count(title: str, text: str, query: str, board: str, color: str = CRITICAL, **options) -> Stat:
    return Stat(title, text, [Query(f"{query} or vector(0)")], steps=[(None, CALM), (0.5, color)], size=44, height=4, links=to(board), **options)


def board() -> Board:
    states = f"topk(1000, ioc:epics_ioc:state{OF_HOSTS})"
    few = f"(count({states}) <= {NAMED})"
    last_put = f"max by (user, client_host, client, pv, ioc) (epics_last_put_timestamp_seconds{OF_HOSTS})"
    return Board(
        uid="ioc-exporter-overview", title="EPICS / Overview", iocs=False, wall=True,
        description="For the wall, and for the first look: what does not run, what was written. Each number and tile leads to its list.",
        panels=[
            count("IOCs down", "IOCs that have ended within the last day, and those that are expected and were never seen.",
                  f"count(ioc:epics_ioc:state{OF_HOSTS} == 5)", "ioc-exporter-iocs", width=5),
            count("Hosts not seen", "Exporters that do not answer: how their IOCs are is not known.",
                  f"count({EXPORTERS_DOWN})", "ioc-exporter-iocs", width=5),
            count("Forbidden puts, time shown", "Puts in the time shown that the site's policy forbids.",
                  f"sum({unexpected_in_range(HOSTS + ', action=' + chr(34) + 'forbidden' + chr(34))})", "ioc-exporter-puts", width=5),
            count("Critical alerts", "Alerts of severity critical that fire.",
                  f'count(ALERTS{{alertstate="firing", severity="critical", alertname=~"Epics.*|IocExporter.*", {HOSTS}}})',
                  "ioc-exporter-iocs", width=5),
            count("Records in alarm", "Records with severity MINOR, MAJOR or INVALID.",
                  f"sum(instance_severity:epics_ioc_records:sum{OF_HOSTS})", "ioc-exporter-iocs", WARNING, width=4),

            Tiles("IOCs, the worst first", "A tile for each IOC, coloured by its state: down, not seen, critical, warning, info, ok. 1,000 "
                  f"at most. Of more than {NAMED} IOCs the names are shown where one points at them.",
                  [Query(f'label_replace({states} and on () {few}, "name", "$1", "ioc", "(.*)") or {states} unless on () {few}',
                         "{{name}} ", instant=True)], mapping=STATES, width=24, height=10,
                  links=[link("${__field.labels.ioc}", "ioc-exporter-iocs", instance="var-instance=${__field.labels.instance:percentencode}",
                              ioc="${__field.labels.ioc:percentencode}")]),
            Latest("Who changed what in the last hour", "The PV that each client wrote to last, of the five clients that wrote last.",
                   [Query(f"1000 * topk(5, topk by (user, client_host, client) (1, {last_put} > time() - 3600))",
                          "{{user}} {{pv}}", instant=True)], unit=WHEN, width=24, height=12, empty_when_healthy=True,
                   links=[link("Puts of this user", "ioc-exporter-puts", instance="${instance:queryparam}",
                               user="${__field.labels.user:percentencode}")]),
        ])
