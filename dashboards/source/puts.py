"""Dashboard Puts: who writes where."""
from board import HOSTS, IOCS, Board, halves
from panels import (CALM, COUNT, CRITICAL, Column, Heatmap, Logs, PUTS, Query, Ranked, Row, Stat, Table, TimeSeries, WARNING, WHEN,
                    exporter_url, firing_alerts, who)

# The text fields: all panels of single PVs and clients follow them.
TYPED = ("pv", "user", "client")
ALL_TYPED = ", ".join(f"{name}${{{name}s:raw}}" for name in TYPED)
# Searches are no single host's: without that label, which the ".+" of All would want.
PUT_ALERTS = (f'{IOCS}, {ALL_TYPED}, alertname=~"Epics.*Put.*|EpicsSearchStorm"'
              .replace("$instance", "$instance|"))
BOTH = f'{IOCS}, {ALL_TYPED}, pv!="(other)"'
BUCKETS = halves("sum by (le) (instance_le:epics_put_duration_seconds_bucket:rate5m{CHOSEN})",
                 "sum by (le) (ioc_le:epics_put_duration_seconds_bucket:rate5m{CHOSEN})",
                 whole="sum by (le) (job_le:epics_put_duration_seconds_bucket:rate5m{CHOSEN})")

# Lines of the put log in a Loki (docs/putlog.md): the line is JSON, the client there has its port.
PUT_LOG = ('{job="ioc_exporter", ioc=~"$ioc"} | json | pv${pvs:raw} | user${users:raw} | label_format client=`{{regexReplaceAll ":[0-9]+$" .client ""}}`'
           ' | client${clients:raw}'
           ' | line_format "{{.pv}}  {{.old}} -> {{.value}}  {{.op}}  {{.user}}@{{.client_host}} ({{.client}})  {{.status}} {{.action}} {{.rule}}"')


NO_PUT = "No put to what is chosen and typed above"
GATEWAYS = f"on (job, instance, ioc, client) epics_gateway_info{{{IOCS}}}"
OLDEST = f"topk(20, max by (job, instance, ioc) (epics_ioc_put_callback_oldest_seconds{{{IOCS}}}) > 0)"
# Those under (other) too: none is left out.
JUDGED = f"{IOCS}, {ALL_TYPED}"
FORBIDDEN = f'{JUDGED}, action="forbidden"'
UNEXPECTED = f'{BOTH}, action="unexpected"'
LABELS = "protocol, ioc, pv, client, user, client_host, rule, action"


def unexpected_in_range(selector: str) -> str:
    """Puts of each series in the time shown, also of a series that began in it: with the first put, not with a 0. Two
    series of a kind, told apart by the label "part": their sum is meant."""
    series = f"epics_unexpected_puts_total{{{selector}}}"
    parts = {"grown": f"increase({series}[$__range])",
             "first": f"(min_over_time({series}[$__range]) unless {series} offset $__range)"}
    return " or ".join(f'label_replace({text}, "part", "{part}", "", "")' for part, text in parts.items())


# Of a client's writes to a PV.
WRITER = "job, instance, ioc, protocol, pv, user, client_host, client"
ONE_A_USER = "topk by (user, client_host) (1, {})"


# Clients that put more often than each two seconds, over an hour: programs, not people.
STEADY = "on (job, instance, ioc, client, user, client_host) ioc_client_user:epics_puts:avg1h{{{}}} > 0.5"


def last_puts() -> str:
    """What the policy does not expect, with its verdict, and the others: of programs one a user, the latest, where nothing is typed."""
    def last(name: str, labels: str) -> str:
        return f'max by ({labels}) (epics_last_{name}_timestamp_seconds{{CHOSEN, pv!="(other)"}})'

    def shown(others: str) -> str:
        judged = f"topk by ({WRITER}) (1, {last('unexpected_put', WRITER + ', action')})"
        others = f'label_replace({others}, "action", "usual", "", "")'  # sorted behind the verdicts
        return f"topk(50, {judged} or on ({WRITER}) {others})"

    puts = last("put", WRITER)
    return halves(shown(f"{puts} unless {STEADY.format('CHOSEN')} or {ONE_A_USER.format(puts)}"),
                  shown(puts).replace("CHOSEN", f"CHOSEN, {ALL_TYPED}"), *TYPED)


def most_puts() -> str:
    rates = 'sum by (protocol, ioc, pv, user, client_host, client) (rate(epics_puts_total{CHOSEN, pv!="(other)"}[5m])) > 0'
    typed = rates.replace("CHOSEN", f"CHOSEN, {ALL_TYPED}")
    return halves(f"topk(20, {ONE_A_USER.format(rates)})", f"topk(20, {typed})", *TYPED)


def unexpected_stat(title: str, selector: str, color: str, text: str, width: int) -> Stat:
    return Stat(title, text, width=width, queries=[Query(f"sum({unexpected_in_range(selector)}) or vector(0)")], steps=[(None, CALM), (0.5, color)])


def unexpected_puts() -> Table:
    """All that are forbidden, and the 50 latest that are unexpected."""
    def last(selector: str) -> str:
        return f"max by ({LABELS}) (last_over_time(epics_last_unexpected_put_timestamp_seconds{{{selector}}}[$__range]))"

    latest = f"({last(FORBIDDEN)} or topk(50, {last(UNEXPECTED)}))"
    counts = f"sum by ({LABELS}) ({unexpected_in_range(JUDGED)}) > 0"

    def row(expression: str) -> Query:  # with the name of its alert, for the link to its page
        alert = f'label_replace({who(expression)}, "alert", "EpicsUnexpectedPut", "action", "unexpected")'
        return Query(f'label_replace({alert}, "alert", "EpicsForbiddenPut", "action", "forbidden")', instant=True)

    return Table("Unexpected and forbidden puts, in the time shown", "All puts that the policy forbids, and of those that it does "
                 "not expect the 50 latest. What leads to what to do.",
                 [row(f"1000 * {latest} and on ({LABELS}) {counts}"), row(f"{counts} and on ({LABELS}) {latest}")],
                 width=24, height=7, sort=["What", "-When"], empty_when_healthy=True,
                 columns=[Column("alert", "What", width=100, runbook=True,
                                 mapping={"EpicsForbiddenPut": ("forbidden", CRITICAL), "EpicsUnexpectedPut": ("unexpected", CALM)}),
                          Column("Value #A", "When", width=150, unit=WHEN),
                          Column("who", "Who", width=225, to_puts="user"), Column("user", "user", hidden=True),
                          Column("pv", "PV", to_puts="pv", values=True), Column("Value #B", "Puts", width=75, unit=COUNT, decimals=0),
                          Column("ioc", "IOC", width=130, board=True), Column("protocol", "Protocol", width=80),
                          Column("rule", "Rule")])


def who_wrote_last() -> Table:
    return Table("Who wrote last", "When the client wrote to the PV last, since the exporter of its host was started: puts that the policy "
                 "does not expect, then those of people; of programs, which put more often than each two seconds, the last one of each user; "
                 "50 at most. Type a PV or a user above, as !fofb, to see all. The time links to each put since the time shown begins "
                 "(Last 7 days: of the week), as far back as the exporter's memory reaches (--collector.putlog).",
                 [Query(exporter_url(f"1000 * {last_puts()}"), instant=True)], width=24, height=10, sort=["Policy", "-Last put"], without=NO_PUT,
                 columns=[Column("pv", "PV", to_puts="pv", values=True),
                          Column("action", "Policy", width=90, mapping={
                              "forbidden": ("forbidden", CRITICAL), "unexpected": ("unexpected", WARNING),
                              "unjudged": ("unjudged", WARNING), "usual": ("–", "transparent")}),
                          Column("user", "User", width=120, to_puts="user"),
                          Column("Value", "Last put", width=155, unit=WHEN, stored=True), Column("client_host", "Host", width=115),
                          Column("client", "Client address", width=120, to_puts="client"), Column("ioc", "IOC", width=140, board=True),
                          Column("protocol", "Protocol", width=80), Column("url", "url", hidden=True)])


def board() -> Board:
    return Board(
        uid="ioc-exporter-puts", title="EPICS / Puts", iocs=True,
        description="Who writes where over Channel Access and PV Access: unexpected puts first, then rates, failures and latency.",
        texts={"pv": "PV (expression, or !expression)", "user": "User", "client": "Client address"}, logs=True,
        panels=[
            unexpected_stat("Forbidden, time shown", FORBIDDEN, CRITICAL,
                            "Puts in the time shown that the site's policy forbids. They were carried out unless "
                            "the IOC refused them.", 4),
            unexpected_stat("Unexpected, time shown", UNEXPECTED, WARNING,
                            "Puts in the time shown that no rule of the site's policy expects.", 5),
            Stat("Puts/s, 5 min", "Puts a second that IOCs and gateways took, of the last five minutes. What a gateway passes on counts at both.",
                 [Query(halves("sum(instance_protocol:epics_puts:rate5m{CHOSEN})",
                               f"sum(rate(epics_puts_total{{CHOSEN, {ALL_TYPED}}}[5m]))", *TYPED) + " or vector(0)")], unit="none", decimals=2),
            Stat("Failed/s, 5 min", "Puts a second that the IOC answered with an error or gave up, of the last five minutes; refused "
                 "ones included.",
                 [Query(halves("sum(instance_reason:epics_put_failures:rate5m{CHOSEN})",
                               f"sum(rate(epics_put_failures_total{{CHOSEN, {ALL_TYPED}}}[5m]))", *TYPED) + " or vector(0)")],
                 unit="none", decimals=2, steps=[(None, CALM), (0.005, WARNING)]),
            Stat("Clients, 5 min", "Clients (user, host and address) with a put in the last five minutes.",
                 [Query(f"count(count by (user, client_host, client) (rate(epics_puts_total{{{BOTH}}}[5m]) > 0)) "
                        "or vector(0)")], width=3),
            Stat("Puts known since", "When the last of the chosen exporters was started: of its IOCs no put from before is shown.",
                 [Query(f"1000 * max(process_start_time_seconds{{{HOSTS}}})")], unit=WHEN, size=20),

            unexpected_puts(),
            who_wrote_last(),
            firing_alerts("Alerts that fire", "Alerts about puts and searches, one row for those of one user and IOC. An alert "
                          "links to what to do.", PUT_ALERTS, "ioc, user", width=14, height=7,
                          columns=[Column("user", "User", width=100, to_puts="user"), Column("ioc", "IOC", width=110, board=True)]),

            TimeSeries("Puts as the policy judges them (all IOCs)", "Puts a second by what the site's policy says to them: of all IOCs, "
                       "whatever is chosen above.",
                       [Query(f"sum by (action) (rate(ioc_exporter_policy_puts_total{{{HOSTS}}}[$__rate_interval]))",
                              "{{action}}")],
                       unit=PUTS, width=10, height=7, stack=True, without="Judged with a policy: in the site's file",
                       colors={"allowed": "grey", "expected": "blue", "unexpected": "orange", "forbidden": "red"}),

            Row("What people changed: each put with its value (Loki)", [
                Logs("Puts", "Each put that the put log has pushed to the Loki above, with what was there before, by PV, user and "
                     "address as typed above: !fofb leaves out the user fofb. seq counts the puts of an exporter.", PUT_LOG)]),

            Row("Who writes where"),
            Ranked("Busiest clients", "The six clients that write most at the end of the time shown, over time. Of all IOCs: as far as they were among the twenty busiest.",
                   [Query(halves("sum by (user, client_host, client) (instance_client_user:epics_puts_top:rate5m{CHOSEN}@END)",
                                f"sum by (user, client_host, client) (rate(epics_puts_total{{CHOSEN, {ALL_TYPED}}}[$__rate_interval]@END))",
                                *TYPED,
                                whole="sum by (user, client_host, client) (job_client_user:epics_puts_top:rate5m{CHOSEN}@END)"),
                          "{{who}}")], unit=PUTS, width=12, without=NO_PUT),
            TimeSeries("Puts by protocol, gateways apart", "Puts a second over Channel Access, and over PV Access. Those that gateways "
                       "pass on are apart: the gateway counts them too, as puts of its own clients, where an exporter watches it.",
                       [Query(halves("sum by (protocol) (instance_protocol:epics_puts_once:rate5m{CHOSEN})",
                                     f"sum by (protocol) (rate(epics_puts_total{{CHOSEN, {ALL_TYPED}}}[$__rate_interval]) unless {GATEWAYS})",
                                     *TYPED), "{{protocol}}"),
                        Query(halves("sum(instance:epics_puts_of_gateways:rate5m{CHOSEN})",
                                     f"sum(rate(epics_puts_total{{CHOSEN, {ALL_TYPED}}}[$__rate_interval]) and {GATEWAYS})", *TYPED),
                              "from gateways")],
                       unit=PUTS, stack=True, colors={"ca": "blue", "pva": "magenta", "from gateways": "grey"}),
            Table("Who writes to which PV, 5 min", "The PV to which each user has put most in the last five minutes. Type a PV or a user "
                  "above to see the 20 pairs of client and PV with the most puts.",
                  [Query(most_puts(), instant=True)], width=24, sort=["-Puts"], without=NO_PUT,
                  columns=[Column("pv", "PV", to_puts="pv"), Column("user", "User", width=100, to_puts="user"),
                           Column("Value", "Puts", width=100, unit=PUTS, decimals=2), Column("client_host", "Host", width=100),
                           Column("client", "Client address", width=115, to_puts="client"), Column("ioc", "IOC", width=130, board=True),
                           Column("protocol", "Protocol", width=78)]),

            Row("Failures"),
            TimeSeries("Failed puts by reason", "Puts a second that the IOC answered with an error, by the status of "
                       "its answer, or gave up.",
                       [Query(halves("sum by (reason) (instance_reason:epics_put_failures:rate5m{CHOSEN})",
                                     f"sum by (reason) (rate(epics_put_failures_total{{CHOSEN, {ALL_TYPED}}}[$__rate_interval]))", *TYPED), "{{reason}}")],
                       unit=PUTS, width=8, height=8,
                       empty_when_healthy=True,
                       colors={"no_write_access": "orange", "put_failed": "red"}),
            Table("Whose puts fail, since the exporter started", "Failed puts, counted since the exporter started, of the 20 worst clients and PVs.",
                  [Query("topk(20, sum by (protocol, ioc, pv, user, client, reason) "
                         f"(epics_put_failures_total{{{BOTH}}}))",
                         instant=True)], width=16, height=8, sort=["-Failed"], empty_when_healthy=True,
                  columns=[Column("pv", "PV", to_puts="pv"), Column("user", "User", width=100, to_puts="user"),
                           Column("Value", "Failed", width=80, unit=COUNT, decimals=0), Column("reason", "Reason", width=140),
                           Column("client", "Client address", width=115, to_puts="client"), Column("ioc", "IOC", width=105, board=True),
                           Column("protocol", "Protocol", width=78)]),

            Row("Latency of put-callbacks: all PVs and clients of the chosen IOCs, but for the slowest PVs"),
            Heatmap("Latency", "How long put-callbacks took, from the request to the IOC's answer: the further along the scale, the "
                    "more of them.",
                    [Query(f"{BUCKETS} or sum(rate(epics_put_duration_seconds{{{IOCS}}}[$__rate_interval]))")], unit="s",
                    without="No put-callback was answered"),
            TimeSeries("Latency: median, 95 % and 99 %", "Half, 95 % and 99 % of put-callbacks took no longer, interpolated "
                       "between the edges of the buckets, which are factors of 4 apart.",
                       [Query(quantile(q), name) for q, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))],
                       unit="s", width=12, logarithmic=True, colors={"median": "blue", "95 %": "orange", "99 %": "red"}),
            Table("Slowest PVs, 5 min", "Mean duration of put-callbacks in the last five minutes, the ten slowest PVs. (other): "
                  "of an IOC's PVs together; all of them where the exporter runs with --series=site.",
                  [Query(f'topk(10, ioc_pv:epics_put_duration_seconds:mean5m{{{IOCS}, pv${{pvs:raw}}}})', instant=True)],
                  height=7, sort=["-Mean"],
                  columns=[Column("pv", "PV", to_puts="pv", values=True), Column("ioc", "IOC", width=105, board=True),
                           Column("Value", "Mean", width=120, unit="s", decimals=2, bar=True)]),
            Table("Put-callbacks that wait", "Put-callbacks that have not ended, those of programs in the IOC (sequencer, CA links) too, and "
                  "how long the oldest has waited: the 20 IOCs where one has waited longest. Names: ioc_exporter puts --pending.",
                  [Query(f"sum by (job, instance, ioc) (epics_ioc_put_callbacks_pending{{{IOCS}}}) and on (job, instance, ioc) {OLDEST}",
                         instant=True), Query(OLDEST, instant=True)],
                  height=7, sort=["-Oldest"], empty_when_healthy=True,
                  columns=[Column("ioc", "IOC", board=True), Column("instance", "Exporter", width=200),
                           Column("Value #A", "Waiting", width=90, unit=COUNT, decimals=0),
                           Column("Value #B", "Oldest", width=120, unit="s", decimals=1)]),
        ])


def quantile(q: float) -> str:
    return (f"histogram_quantile({q}, {BUCKETS}) "
            f"or histogram_quantile({q}, sum(rate(epics_put_duration_seconds{{{IOCS}}}[$__rate_interval])))")
