"""Dashboard Puts: who writes where."""
from board import HOSTS, IOCS, Board
from panels import (CRITICAL, GOOD, PUTS, SEVERITIES, WARNING, Column, Heatmap, Query, Ranked, Row, Stat,
                    Table, TimeSeries, worst_alerts)

PUT_ALERTS = 'alertname=~"Epics.*Put.*|EpicsSearchStorm"'
# What was typed above: all panels of single PVs and clients look at that alone. What is summed under (other), since
# there is more than --limit allows, is in a panel of its own.
PV = 'pv=~"$pv", pv!="(other)"'
CLIENT = 'user=~"$user", client=~"$client"'
BOTH = f"{IOCS}, {PV}, {CLIENT}"
UNEXPECTED = f"epics_ca_unexpected_puts_total{{{BOTH}}}"


def unexpected_in_range(selector: str) -> str:
    """Puts of each series in the time shown, also of a series that began in it: with the first put, not with a 0."""
    grown = f"increase({selector}[$__range])"
    first = f"(min_over_time({selector}[$__range]) unless {selector} offset $__range)"
    return f"({grown} + {first} or {grown} or {first})"


def unexpected_stat(title: str, action: str, color: str, text: str) -> Stat:
    return Stat(title, text, [Query(
        "sum" + unexpected_in_range(f'epics_ca_unexpected_puts_total{{{IOCS}, action="{action}"}}') + " or vector(0)")],
        unit="short", width=3, decimals=0, steps=[(None, GOOD), (0.5, color)])


def board() -> Board:
    # The name of the alert behind each row, for the link to its page.
    page = (f'label_replace(label_replace(topk(50, sum by (ioc, pv, client, user, client_host, rule, action) '
            f'{unexpected_in_range(UNEXPECTED)} > 0), "alert", "EpicsUnexpectedPut", "action", "unexpected"), '
            f'"alert", "EpicsForbiddenPut", "action", "forbidden")')
    return Board(
        uid="ioc-exporter-puts", title="EPICS / Puts", iocs="all",
        description="Who writes where over Channel Access: unexpected puts first, then rates, failures and latency.",
        texts={"pv": "PV (expression)", "user": "User", "client": "Address"},
        panels=[
            unexpected_stat("Forbidden", "forbidden", CRITICAL,
                            "Puts in the time shown that the site's policy forbids. They were carried out unless "
                            "the IOC refused them."),
            unexpected_stat("Unexpected", "unexpected", WARNING,
                            "Puts in the time shown that no rule of the site's policy expects."),
            Stat("Puts", "Puts a second, of all clients to all PVs.",
                 [Query(f"sum(ioc:epics_ca_puts:rate5m{{{IOCS}}})")], unit=PUTS, area=True),
            Stat("Failed puts", "Puts a second that the IOC answered with an error, refused ones included.",
                 [Query(f"sum(ioc_reason:epics_ca_put_failures:rate5m{{{IOCS}}}) or vector(0)")], unit=PUTS,
                 steps=[(None, GOOD), (0.001, WARNING)], area=True),
            Stat("Clients", "Clients (user, host and address) with a put in the last five minutes.",
                 [Query(f"count(ioc_client_user:epics_ca_puts:rate5m{{{IOCS}}} > 0) or vector(0)")], unit="short", width=3),
            Stat("PVs written to", "PVs with a put in the last five minutes.",
                 [Query(f"count(ioc_pv:epics_ca_puts:rate5m{{{IOCS}}} > 0) or vector(0)")], unit="short", width=3),
            Stat("Under (other)", "Puts a second to PVs that have no series of their own, since there are more than --limit "
                 "allows: no panel below names them.",
                 [Query(f'sum(ioc_pv:epics_ca_puts:rate5m{{{IOCS}, pv="(other)"}}) or vector(0)')], unit=PUTS,
                 steps=[(None, GOOD), (0.001, WARNING)]),

            Table("Unexpected and forbidden puts", "Puts in the time shown that the policy does not expect, the most "
                  "frequent first, 50 at most. A row's alert links to what to do.",
                  [Query(page, instant=True)], width=16, height=7, sort="Puts", empty_when_healthy=True,
                  columns=[Column("alert", "Alert", width=185, runbook=True), Column("pv", "PV"),
                           Column("user", "User", width=85), Column("client_host", "Host", width=85),
                           Column("client", "Address", width=95), Column("ioc", "IOC", width=95),
                           Column("rule", "Rule", width=110),
                           Column("Value", "Puts", width=65, unit="short", decimals=0)]),
            Table("Alerts that fire", "Alerts about puts and searches, 50 at most. An alert links to what to do.",
                  [Query(worst_alerts(f"{HOSTS}, {PUT_ALERTS}"), instant=True)], width=8, height=7, empty_when_healthy=True,
                  columns=[Column("severity", "Severity", width=80, mapping=SEVERITIES),
                           Column("alertname", "Alert", width=185, runbook=True), Column("pv", "PV")]),

            Row("Who writes where"),
            Ranked("Busiest clients", "The six clients that write most at the end of the time shown, over time.",
                   [Query("sum by (user, client_host, client) (ioc_client_user:epics_ca_puts:rate5m{" + IOCS + ", " + CLIENT + "}@END)",
                          "{{user}}@{{client_host}} ({{client}})")], unit=PUTS),
            Ranked("Busiest PVs", "The six PVs that are written to most at the end of the time shown, over time.",
                   [Query("ioc_pv:epics_ca_puts:rate5m{" + IOCS + ", " + PV + "}@END",
                          "{{pv}}")], unit=PUTS),
            Table("Who writes to which PV", "The 20 pairs of client and PV with the most puts in the last five "
                  "minutes.",
                  [Query(f"topk(20, sum by (ioc, pv, user, client_host, client) (rate(epics_ca_puts_total{{{BOTH}}}[5m])) > 0)",
                         instant=True)], width=14, height=9, sort="Puts",
                  columns=[Column("pv", "PV"), Column("user", "User", width=130), Column("client_host", "Host", width=130),
                           Column("client", "Address", width=130), Column("ioc", "IOC", width=130),
                           Column("Value", "Puts", width=110, unit=PUTS, decimals=2)]),
            TimeSeries("Puts as the policy judges them", "Puts a second by what the site's policy says to them.",
                       [Query(f"sum by (action) (rate(ioc_exporter_policy_puts_total{{{HOSTS}}}[$__rate_interval]))",
                              "{{action}}")],
                       unit=PUTS, width=10, height=9, stack=True, without="Judged with a policy: in the site's file",
                       colors={"allowed": "grey", "expected": "blue", "unexpected": "orange", "forbidden": "red"}),

            Table("Who wrote last", "When the client wrote to the PV last, whenever that was (--pvs.expire, 30 days): the 50 "
                  "latest. Type a PV above to see who has written to it.",
                  [Query("1000 * topk(50, max by (ioc, pv, user, client_host, client) "
                         f"(epics_ca_last_put_timestamp_seconds{{{BOTH}}}))", instant=True)], width=24, height=8, sort="Last put",
                  columns=[Column("pv", "PV"), Column("user", "User", width=170), Column("client_host", "Host", width=170),
                           Column("client", "Address", width=170), Column("ioc", "IOC", width=170),
                           Column("Value", "Last put", width=180, unit="dateTimeAsIso")]),

            Row("Failures"),
            TimeSeries("Failed puts by reason", "Puts a second that the IOC answered with an error, by the status of "
                       "its answer.",
                       [Query(f"sum by (reason) (ioc_reason:epics_ca_put_failures:rate5m{{{IOCS}}})", "{{reason}}")],
                       unit=PUTS, width=10, height=8,
                       empty_when_healthy=True,
                       colors={"no_write_access": "orange", "put_failed": "red"}),
            Table("Whose puts fail", "Failed puts, counted since the exporter started, of the 20 worst clients and PVs.",
                  [Query(f"topk(20, sum by (ioc, pv, user, client, reason) (epics_ca_put_failures_total{{{BOTH}}}))",
                         instant=True)], width=14, height=8, sort="Failed",
                  columns=[Column("pv", "PV"), Column("user", "User", width=120), Column("client", "Address", width=120),
                           Column("ioc", "IOC", width=120), Column("reason", "Reason", width=150),
                           Column("Value", "Failed", width=80, unit="short", decimals=0)]),

            Row("Latency of put-callbacks"),
            Heatmap("Latency", "How long put-callbacks took, from the request to the IOC's answer: the further along the scale, the "
                    "more of them.",
                    [Query(f"sum by (le) (ioc_le:epics_ca_put_duration_seconds_bucket:rate5m{{{IOCS}}}) "
                    f"or sum(rate(epics_ca_put_duration_seconds{{{IOCS}}}[$__rate_interval]))")], unit="s",
                    without="No put-callback was answered"),
            TimeSeries("Latency: median and worst", "Half, 95 % and 99 % of put-callbacks took no longer, interpolated "
                       "between the edges of the buckets, which are factors of 4 apart.",
                       [Query(quantile(q), name) for q, name in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))],
                       unit="s", width=12, logarithmic=True, colors={"median": "blue", "95 %": "orange", "99 %": "red"}),
            Table("Slowest PVs", "Mean duration of put-callbacks in the last five minutes, the ten slowest PVs.",
                  [Query(f"topk(10, ioc_pv:epics_ca_put_duration_seconds:mean5m{{{IOCS}, {PV}}})", instant=True)],
                  width=24, height=7, sort="Mean",
                  columns=[Column("pv", "PV", width=300), Column("ioc", "IOC", width=200),
                           Column("Value", "Mean", unit="s", decimals=2, bar=True)]),
        ])


def quantile(q: float) -> str:
    return (f"histogram_quantile({q}, sum by (le) (ioc_le:epics_ca_put_duration_seconds_bucket:rate5m{{{IOCS}}})) "
            f"or histogram_quantile({q}, sum(rate(epics_ca_put_duration_seconds{{{IOCS}}}[$__rate_interval])))")
