"""Queries of single panels, as Grafana fills them in, in promtool, on series that are written here."""
import itertools
import re
import sys

from project import ROOT, rules_test
from test_dashboards import boards, panels, strings

sys.path.append(str(ROOT / "tests/e2e"))
from harness.grafana import fill  # noqa: E402

TYPED = {"pv": "", "user": "", "client": "", **{name: "=~`.*`" for name in ("pvs", "users", "clients", "records")}}
ALL = {"job": ".+", "instance": ".+", "ioc": ".*", **TYPED, "archiver": "", "phoebus": "", "__range": "10m", "__rate_interval": "5m"}
HERE = 'job="ioc_exporter",instance="h:10064"'
# Of what a query finds, only these are compared; the values with them.
SHOWN = ("alertname", "ioc", "instance", "pv", "who", "user", "reason", "typed")


def query(name: str, ref: str = "A", **chosen: str) -> str:
    (panel,) = [panel for title, panel in panels() if title == name]
    (expression,) = [target["expr"] for target in panel["targets"] if target["refId"] == ref]
    return f"sum by ({', '.join(SHOWN)}) ({fill(expression, **ALL | chosen)})"


def inner(expression: str) -> str:
    """Without the sum of query()."""
    return expression.partition(") (")[2][:-1]


def typed(**texts: str) -> dict[str, str]:
    """Variables, where `texts` stand in the boxes; a leading "!" turns one round."""
    return texts | {f"{name}s": f"!~`{text[1:]}`" if text.startswith("!") else f"=~`{text}`" for name, text in texts.items()}


def check(tmp_path, series: dict[str, str], *expected: tuple) -> None:
    """Each of `expected`: an expression, and its samples after twenty minutes of `series`, by labels."""
    tests = [{"expr": expression, "eval_time": "20m",
              "exp_samples": [{"labels": f"{{{labels}}}", "value": value} for labels, value in samples.items()]}
             for expression, samples in expected]
    rules_test(tmp_path, series, promql_expr_test=tests)


def unexpected(kind: str, pv: str, at: int, puts: str, **other: str) -> dict[str, str]:
    labels = {"protocol": "ca", "ioc": "vac", "pv": pv, "client": "10.0.0.7", "user": "ann", "client_host": "console1", "rule": "r"} | other
    written = ",".join(f'{name}="{value}"' for name, value in labels.items()) + f',action="{kind}",{HERE}'
    return {f"epics_unexpected_puts_total{{{written}}}": puts,
            f"epics_last_unexpected_put_timestamp_seconds{{{written}}}": f"{at}x20"}


UNEXPECTED = "puts: Unexpected and forbidden puts, in the time shown"


def test_no_forbidden_put_is_cut(tmp_path):
    """Among 103 PVs that are written to far more often, and later."""
    series = {}
    for number in range(103):
        series |= unexpected("unexpected", f"VAC:V{number:03}", 1000 + number, "0+60x20")
    series |= unexpected("forbidden", "VAC:INTERLOCK", 900, "0x12 1x8")
    series |= unexpected("forbidden", "(other)", 901, "0x12 2x8")
    series |= unexpected("forbidden", "VAC:BEFORE", 100, "7x20")
    latest = {f'pv="VAC:V{number:03}",ioc="vac",user="ann",who="ann@console1 (10.0.0.7)"': (1000 + number) * 1000 for number in range(53, 103)}
    forbidden = {'pv="VAC:INTERLOCK",ioc="vac",user="ann",who="ann@console1 (10.0.0.7)"': 900_000,
                 'pv="(other)",ioc="vac",user="ann",who="ann@console1 (10.0.0.7)"': 901_000}
    check(tmp_path, series, (query(UNEXPECTED), latest | forbidden),
          (f"count({query(UNEXPECTED, 'B')})", {"": 52}))


def test_choices_and_typed_names_are_followed(tmp_path):
    series = unexpected("forbidden", "VAC:V1", 900, "0+1x20") | unexpected("forbidden", "RF:X", 900, "0+2x20", ioc="rf", user="bob")
    alert = 'alertname="EpicsForbiddenPut",alertstate="firing",severity="critical",client="10.0.0.7"'
    for ioc, user, pv in (("vac", "ann", "VAC:V1"), ("rf", "bob", "RF:X")):
        series[f'ALERTS{{{alert},ioc="{ioc}",user="{user}",pv="{pv}",{HERE}}}'] = "1x20"
        series[f'epics_puts_total{{ioc="{ioc}",user="{user}",pv="{pv}",client="10.0.0.7",client_host="c",protocol="ca",{HERE}}}'] = "0+60x20"
        series[f'epics_put_failures_total{{ioc="{ioc}",user="{user}",pv="{pv}",client="10.0.0.7",reason="cancelled",{HERE}}}'] = "0+60x20"
    for chosen in ({"ioc": "vac"}, typed(pv="VAC:V.*"), typed(user="ann"), typed(user="!bob"), typed(pv="VAC:V1", client="10.0.0.7") | {"ioc": "vac"}):
        check(tmp_path, series,
              (query("puts: Forbidden, time shown", **chosen), {"": 10}),
              (query("puts: Puts/s, 5 min", **chosen), {"": 1}),
              (query("puts: Failed/s, 5 min", **chosen), {"": 1}),
              (query("puts: Clients, 5 min", **chosen), {"": 1}),
              (query("puts: Failed puts by reason", **chosen), {'reason="cancelled"': 1}),
              (query("puts: Alerts that fire", **chosen), {'alertname="EpicsForbiddenPut",ioc="vac",user="ann"': 3}))


def test_clients_are_named_once(tmp_path):
    series = {f'job_client_user:epics_puts_top:rate5m{{job="ioc_exporter",user="{user}",client_host="{host}",client="{client}"}}': "1x20"
              for user, host, client in (("(other)", "(other)", "(other)"), ("vacgroup", "127.0.0.1", "127.0.0.1"),
                                         ("ann", "console1", "10.0.0.7"), ("six", "fe80::1", "fe80::1"), ("", "", "10.0.0.9"), ("", "", ""))}
    check(tmp_path, series, (f"sum by (who) ({query('puts: Busiest clients')})".replace("@ end()", ""), {
        f'who="{who}"': 1 for who in ("all others", "vacgroup@127.0.0.1", "ann@console1 (10.0.0.7)", "six@fe80::1", "10.0.0.9", "not known")}))


def test_typed_names_are_expressions_or_nothing_or_turned_round(tmp_path):
    (asked,) = [variable["query"]["query"] for variable in boards()["puts"]["templating"]["list"] if variable["name"] == "pvs"]
    assert asked.startswith("query_result(") and asked.count("label_replace") == 1
    meant = {"": "=~`.*`", " ": "=~`.*`", "VAC:V1": "=~`VAC:V1`", " VAC:V1 ": "=~`VAC:V1`", "!fofb": "!~`fofb`", " ! fofb|a ": "!~`fofb|a`",
             "VAC:.*|RF:[A-Z]*=!x": "=~`VAC:.*|RF:[A-Z]*=!x`", r"A[.]\\d{2}": r"=~`A[.]\\d{2}`"}
    check(tmp_path, {}, *[(f"sum by (typed) {asked.removeprefix('query_result').replace('$pv', text)}", {f'typed="{matcher}"': 1})
                          for text, matcher in meant.items()])


GONE = 'job="ioc_exporter",instance="gone:10064"'
DEAD = {f"up{{{HERE}}}": "1x20", f"up{{{GONE}}}": "1x10 0x10", 'up{job="node",instance="other:9100"}': "0x20",
        f'ioc_exporter_build_info{{{HERE}}}': "1x20", f"ioc_exporter_build_info{{{GONE}}}": "1x10 stale",
        f'ioc:epics_ioc:state{{ioc="unseen",{GONE}}}': "0x10 4x10", **{f'ioc:epics_ioc:state{{ioc="{ioc}",{HERE}}}': "5x20" for ioc in ("crashed", "lost", "never")},
        f'epics_ioc_up{{ioc="unseen",{GONE}}}': "1x10 stale", f'epics_ioc_up{{ioc="crashed",{HERE}}}': "0x20",
        f'epics_ioc_up{{ioc="lost",{HERE}}}': "0x20", f'epics_ioc_expected{{ioc="never",{HERE}}}': "1x20",
        f'epics_ioc_last_exit_info{{ioc="crashed",reason="signal",signal="SIGSEGV",status="",{HERE}}}': "1x20",
        f'ALERTS{{alertname="IocExporterDown",alertstate="firing",severity="critical",{GONE}}}': "1x20",
        f'ALERTS_FOR_STATE{{alertname="EpicsIocDown",ioc="crashed",{HERE}}}': "60x20"}


def test_an_exporter_that_is_killed_is_seen(tmp_path):
    """With the IOCs that it watched; what else Prometheus cannot scrape is none."""
    check(tmp_path, DEAD,
          (query("iocs: Hosts not seen"), {"": 1}), (query("iocs: Hosts not seen", ioc="unseen"), {"": 1}),
          (query("iocs: Hosts not seen", ioc="crashed"), {"": 0}), (query("exporter: Down"), {"": 1}), (query("iocs: IOCs down"), {"": 3}),
          (query("iocs: Alerts that fire"), {'alertname="IocExporterDown",instance="gone:10064"': 3}),
          (query("exporter: Exporters that do not answer"), {'instance="gone:10064"': 0}),
          (query("exporter: Exporters that do not answer", "B"), {'instance="gone:10064"': 600_000}))


def test_ended_iocs_say_how_and_when_they_ended(tmp_path):
    name = "iocs: IOCs that do not run, or are not seen"
    check(tmp_path, DEAD,
          (f"count by (ioc, reason) ({query(name)})", {
              'ioc="crashed",reason="signal"': 1, 'ioc="lost",reason="not known"': 1, 'ioc="never",reason="absent"': 1,
              'ioc="unseen",reason="host not seen"': 1}),
          (query(name, "B"), {'ioc="unseen",instance="gone:10064"': 600_000, 'ioc="crashed",instance="h:10064"': 60_000}))


def test_ended_iocs_are_not_cut_from_hosts_that_are_not_seen(tmp_path):
    many = {f'ioc:epics_ioc:state{{ioc="u{number}",{GONE}}}': "4x20" for number in range(60)}
    query_of_rows = query("iocs: IOCs that do not run, or are not seen")
    check(tmp_path, DEAD | many, (f"count by (reason) ({inner(query_of_rows)})", {
        'reason="signal"': 1, 'reason="not known"': 1, 'reason="absent"': 1, 'reason="host not seen"': 47}))


def test_attention_says_why_and_since_when(tmp_path):
    """An IOC that runs well is no worse for who writes to it."""
    series = {f'ioc:epics_ioc:attention{{ioc="{ioc}",{HERE}}}': "3x20" for ioc in ("vac", "fine")}
    for ioc, alert, severity, since in (("vac", "EpicsThreadSuspended", "critical", 300), ("vac", "EpicsScanOverrun", "warning", 60),
                                        ("fine", "EpicsForbiddenPut", "critical", 120)):
        series[f'ALERTS{{alertname="{alert}",ioc="{ioc}",alertstate="firing",severity="{severity}",{HERE}}}'] = "1x20"
        series[f'ALERTS_FOR_STATE{{alertname="{alert}",ioc="{ioc}",severity="{severity}",{HERE}}}'] = f"{since}x20"
    series |= {f"up{{{GONE}}}": "1x10 0x10", f'ioc:epics_ioc:state{{ioc="unseen",{GONE}}}': "4x20",
               f'ioc:epics_ioc:attention{{ioc="unseen",{GONE}}}': "4x20",
               f'ALERTS{{alertname="EpicsScanOverrun",ioc="unseen",alertstate="firing",severity="warning",{GONE}}}': "1x20"}
    name = "iocs: IOCs by what needs attention"
    check(tmp_path, series, (query(name, "B"), {'alertname="EpicsThreadSuspended",ioc="vac",instance="h:10064"': 3,
                                                'alertname="IocExporterDown",ioc="unseen",instance="gone:10064"': 4}),
          (query(name, "C"), {'ioc="vac",instance="h:10064"': 300_000, 'ioc="unseen",instance="gone:10064"': 600_000}))


def test_what_starts_an_ioc_again_is_told(tmp_path):
    """Where it is known: of one that has ended now, and where the kernel tells no ends, the count is there alone."""
    series = {f'ioc:epics_ioc_restarts:increase1h{{ioc="{ioc}",{HERE}}}': values for ioc, values in (("vac", "2.02x21"), ("rf", "0x21"), ("ok", "0x21"))}
    series |= {f'ioc:epics_ioc_up:avg1h{{ioc="{ioc}",{HERE}}}': values for ioc, values in (("vac", "1x21"), ("rf", "0.5x21"), ("ok", "1x21"))}
    series |= {f'epics_ioc_info{{ioc="{ioc}",supervisor="procServ",pid="7",{HERE}}}': "1x21" for ioc in ("vac", "ok")}
    series |= {f'epics_ioc_last_exit_info{{ioc="vac",reason="signal",signal="SIGSEGV",status="",{HERE}}}': "1x21"}
    name = "iocs: Availability and restarts, 30 days"
    check(tmp_path, series, (query(name), {'ioc="vac",instance="h:10064"': 1, 'ioc="rf",instance="h:10064"': 0.5}),
          (query(name, "B"), {'ioc="vac",instance="h:10064"': 2, 'ioc="rf",instance="h:10064"': 0}),
          (f"sum by (supervisor, ioc) ({inner(query(name, 'C'))})", {'ioc="vac",supervisor="procServ"': 1}),
          (query(name, "D"), {'ioc="vac",instance="h:10064",reason="signal"': 1}))


def test_memory_that_grows_is_that_of_iocs_that_ran_all_day(tmp_path):
    """48 hours before the end, and 20 minutes: what is lost is a line of 1,000 bytes a second."""
    series = {f'epics_ioc_start_time_seconds{{ioc="{ioc}",{HERE}}}': f"{start}x20" for ioc, start in (("leaks", -172800), ("new", -600), ("calm", -172800))}
    series |= {f'epics_ioc_resident_memory_bytes{{ioc="{ioc}",{HERE}}}': f"1000000+{60 * grows}x20" for ioc, grows in (("leaks", 1000), ("new", 1000), ("calm", 1))}
    check(tmp_path, series, (query("iocs: Memory that grows"), {'ioc="leaks",instance="h:10064"': 86_400_000}),
          (query("iocs: Memory that grows", "B"), {'ioc="leaks",instance="h:10064"': 2_200_000}))


def test_iocs_with_most_links_down_come_before_those_whose_links_come_and_go(tmp_path):
    """24 with links down, 7 whose links are up again, and one that has had neither."""
    states = {f"d{number:02}": (number, 0) for number in range(1, 25)} | {f"f{number}": (0, number) for number in range(1, 8)} | {"fine": (0, 0)}
    series = {}
    for ioc, (down, times) in states.items():
        series |= {f'epics_ioc_ca_links{{ioc="{ioc}",state="disconnected",{HERE}}}': f"{down}x21",
                   f'epics_ioc_ca_links{{ioc="{ioc}",state="connected",{HERE}}}': "9x21",
                   f'epics_ioc_ca_link_disconnects_total{{ioc="{ioc}",{HERE}}}': f"0+{times}x21"}
    name, few = "iocs: Channel Access links that are down", "f.|fine"
    check(tmp_path, series, (query(name), {f'ioc="d{number:02}",instance="h:10064"': number for number in range(5, 25)}),
          (f"round({query(name, 'C', ioc=few)})", {f'ioc="f{number}",instance="h:10064"': 10 * number for number in range(1, 8)}),
          (query(name, ioc=few), {f'ioc="f{number}",instance="h:10064"': 0 for number in range(1, 8)}))


def test_what_gateways_pass_on_is_apart(tmp_path):
    """By protocol without it, whether sums of rules are asked for or the puts of chosen IOCs."""
    series = {f'epics_gateway_info{{ioc="vac",client="10.0.0.9",{HERE}}}': "1x21"}
    for ioc, client, puts in (("gw", "10.0.0.7", 60), ("vac", "10.0.0.9", 60), ("vac", "10.0.0.8", 120)):
        series[f'epics_puts_total{{ioc="{ioc}",client="{client}",user="u",pv="P",protocol="ca",{HERE}}}'] = f"0+{puts}x21"
    name = "puts: Puts by protocol, gateways apart"
    check(tmp_path, series, (query(name, ioc="vac|gw"), {"": 3}), (query(name, "B", ioc="vac|gw"), {"": 1}),
          (query(name, ioc="gw"), {"": 1}), (query(name, "B", ioc="gw"), {}))


def test_the_longest_wait_comes_first(tmp_path):
    series = {f'epics_ioc_put_callback_oldest_seconds{{ioc="w{number:02}",{HERE}}}': f"{number}x21" for number in range(25)}
    series |= {f'epics_ioc_put_callbacks_pending{{ioc="w{number:02}",{HERE}}}': f"{2 if number else 0}x21" for number in range(25)}
    name = "puts: Put-callbacks that wait"
    check(tmp_path, series, (query(name, "B"), {f'ioc="w{number:02}",instance="h:10064"': number for number in range(5, 25)}),
          (query(name), {f'ioc="w{number:02}",instance="h:10064"': 2 for number in range(5, 25)}))


def test_one_script_does_not_fill_the_list_of_alerts(tmp_path):
    """60 alerts of one user are one row; of 60 users, the table says that there are more."""
    alert = 'alertname="EpicsUnexpectedPut",alertstate="firing",severity="warning",ioc="vac",client="c"'
    of_one = {f'ALERTS{{{alert},pv="V{number}",user="script",{HERE}}}': "1x20" for number in range(60)}
    name = "puts: Alerts that fire"
    check(tmp_path, of_one, (query(name), {'alertname="EpicsUnexpectedPut",ioc="vac",user="script"': 2}),
          (query(name, "C"), {'alertname="EpicsUnexpectedPut",ioc="vac",user="script"': 60}))
    of_many = {f'ALERTS{{{alert},pv="V",user="u{number}",{HERE}}}': "1x20" for number in range(60)}
    check(tmp_path, of_many, (f'count({query(name)})', {"": 51}),
          (f'{query(name)} < 2', {'alertname="60 firing, 50 rows shown"': 1}))


def test_records_of_one_name_are_not_added_up(tmp_path):
    series = {f'epics_record_process_self_seconds_total{{ioc="{ioc}",record="X",{HERE}}}': f"0+{seconds}x20"
              for ioc, seconds in (("vac", 3), ("rf", 6))}
    check(tmp_path, series, (query("records: Slowest by self time, time shown"),
                            {'instance="h:10064",ioc="vac"': 0.05, 'instance="h:10064",ioc="rf"': 0.1}))


def test_a_record_that_has_thrown_is_listed_until_its_ioc_restarts(tmp_path):
    """Its lock is held for as long. A series may begin with 1: no increase."""
    series = {f'epics_record_unwound_total{{ioc="{ioc}",record="X",{HERE}}}': values for ioc, values in (("vac", "_x3 1x18"), ("rf", "3x9 0x11"))}
    check(tmp_path, series, (query("records: Records that have thrown"), {'ioc="vac"': 1}))


def test_only_drops_are_listed(tmp_path):
    rates = {f'job_probe_reason:ioc_exporter_dropped:rate5m{{job="ioc_exporter",probe="ca_tap",reason="{reason}"}}': values
             for reason, values in (("map_full", "1x20"), ("late", "0x20"))}
    check(tmp_path, rates, (f"count by (reason) ({query('exporter: What was dropped, time shown', instance='.+')})", {'reason="map_full"': 1}))


def test_why_records_are_not_counted(tmp_path):
    """As the board maps the value: what is true of the exporter before what is true of the IOC."""
    series = {f'epics_ioc_records_watched{{ioc="{ioc}",{HERE}}}': f"{value}x20" for ioc, value in (("gas", 0), ("mag", 1))}
    for ioc, host, more in (("a", "detached", 1), ("b", "refused", 1), ("c", "busy", 1), ("d", "busy", 0)):
        of = f'job="ioc_exporter",instance="{host}"'
        series |= {f'epics_ioc_records_watched{{ioc="{ioc}",{of}}}': "0x20", f"ioc_exporter_detached{{{of}}}": f"{int(host == 'detached')}x20",
                   f'ioc_exporter_probe_loaded{{probe="record_process",{of}}}': f"{int(host != 'refused')}x20"}
        if more:
            series[f'ioc_exporter_ioc_overhead_seconds_total{{ioc="{ioc}",probe="record_process",{of}}}'] = "7x20"
    check(tmp_path, series, (query("exporter: IOCs whose records are not counted"), {
        'ioc="gas",instance="h:10064"': 0, 'ioc="a",instance="detached"': 3, 'ioc="b",instance="refused"': 2,
        'ioc="c",instance="busy"': 1, 'ioc="d",instance="busy"': 0}))


def test_the_six_busiest_have_their_ranks(tmp_path):
    """Also of fewer than six."""
    series = {f'process_cpu_seconds_total{{job="ioc_exporter",instance="h{number}"}}': f"0+{60 * number}x20" for number in range(1, 9)}
    ranks = query("exporter: CPU time of the exporters").replace(" @ end()", "")
    few = {name: values for name, values in series.items() if '"h8"' in name or '"h3"' in name}
    check(tmp_path, series, (f"round(sum by (at_end) ({inner(ranks)}))", {f'at_end="{rank}"': 9 - rank for rank in range(1, 7)}))
    check(tmp_path, few, (f"round(sum by (at_end) ({inner(ranks)}))", {'at_end="1"': 8, 'at_end="2"': 3}))


def test_an_exporter_is_found_by_its_targets_name(tmp_path):
    (asked,) = [variable["query"]["query"] for variable in boards()["iocs"]["templating"]["list"] if variable["name"] == "exporter"]
    for instance, url in {"h": "http://h:10064", "h:9": "http://h:9", "https://h:9/": "https://h:9", "https://h": "https://h:10064",
                          "[::1]": "http://[::1]:10064", "[::1]:9": "http://[::1]:9"}.items():
        check(tmp_path, {f'ioc_exporter_build_info{{job="ioc_exporter",instance="{instance}"}}': "1x20"},
              (f"sum by (url) {fill(asked.removeprefix('query_result'), **ALL)}", {f'url="{url}"': 1}))


def test_the_overview_shows_the_worst_first_and_one_line_a_client(tmp_path):
    series = {f'ioc:epics_ioc:state{{ioc="{ioc}",{HERE}}}': f"{state}x20" for ioc, state in (("fine", 0), ("dead", 5), ("hot", 3))}
    for pv, at, user in (("OLD", 100, "ann"), ("NEW", 1100, "ann"), ("X", 900, "bob"), ("AGES", -3000, "eve")):
        series[f'epics_last_put_timestamp_seconds{{ioc="fine",pv="{pv}",user="{user}",client="10.0.0.7",client_host="c",{HERE}}}'] = f"{at}x20"
    lines, people = "overview: IOCs, the worst first", "overview: What people changed in the last hour"
    series |= {f'ALERTS_FOR_STATE{{alertname="EpicsIocDown",ioc="dead",severity="critical",{HERE}}}': "700x20",
               f'ALERTS_FOR_STATE{{alertname="EpicsThreadSuspended",ioc="hot",severity="critical",{HERE}}}': "60x20",
               f'ALERTS_FOR_STATE{{alertname="EpicsForbiddenPut",ioc="fine",severity="critical",{HERE}}}': "30x20",
               f'epics_ioc_start_time_seconds{{ioc="fine",{HERE}}}': "-900x20",
               f'ALERTS{{alertname="EpicsThreadSuspended",alertstate="firing",ioc="hot",severity="critical",{HERE}}}': "1x20",
               f'ioc_client_user:epics_puts:avg1h{{ioc="fine",user="loop",client="10.0.0.7",client_host="c",{HERE}}}': "1x20",
               f'epics_last_put_timestamp_seconds{{ioc="fine",pv="Y",user="loop",client="10.0.0.7",client_host="c",{HERE}}}': "1199x20",
               f'ioc:epics_ioc:state{{ioc="odd",{HERE}}}': "2x20"}
    check(tmp_path, series, (query(lines), {'ioc="dead",instance="h:10064"': 700_000}), (query(lines, "B"), {}),
          (query(lines, "C"), {'ioc="hot",instance="h:10064"': 60_000}), (query(lines, "F"), {'ioc="fine",instance="h:10064"': -900_000}),
          (f'count({query(lines, "D")})', {"": 1}), (query("overview: IOCs down"), {"": 1}),
          (query("overview: Which critical alerts"), {'alertname="EpicsThreadSuspended",ioc="hot",instance="h:10064"': 60_000}),
          (query(people), {'ioc="fine",pv="NEW",instance="h:10064",user="ann"': 1_100_000,
                           'ioc="fine",pv="X",instance="h:10064",user="bob"': 900_000}))


def test_records_in_alarm_have_a_colour_where_they_changed(tmp_path):
    """Ten minutes before there were seven."""
    for now, colored in ((7, False), (9, True)):
        series = {f'instance_severity:epics_ioc_records:sum{{severity="major",{HERE}}}': f"7x15 {now}x5"}
        name = "overview: Records in alarm"
        check(tmp_path, series, (query(name), {} if colored else {"": now}), (query(name, "B"), {"": now} if colored else {}))


def test_links_lead_to_boards_and_boxes_that_there_are():
    known = {board["uid"]: {variable["name"] for variable in board["templating"]["list"]} for board in boards().values()}
    found = set()
    for name, panel in panels():
        for key, url in strings(panel):
            if key == "url" and url.startswith("/d/"):
                uid, _, query_string = url.removeprefix("/d/").partition("?")
                assert set(re.findall(r"\bvar-(\w+)=", query_string)) <= known[uid], f"{name}: {url}"
                found.add((name.partition(":")[0], uid.removeprefix("ioc-exporter-")))
    assert found >= {("overview", "iocs"), ("overview", "puts"), ("iocs", "records"), ("iocs", "puts"), ("puts", "puts"),
                     ("records", "puts")}, "drill down"


def luminance(color: str) -> float:
    parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def text_on(color: str) -> str:
    """Grafana's colour of text on a coloured ground, in both themes."""
    red, green, blue = (int(color[at:at + 2], 16) for at in (1, 3, 5))
    return "#202226" if (red * 299 + green * 587 + blue * 114) / 1000 > 180 else "#F7F8FA"


def test_text_on_colours_can_be_read():
    """A contrast of 4.5, as the WCAG has it."""
    grounds = set()
    for _, panel in panels():
        if panel["type"] == "stat":
            assert panel["options"]["colorMode"] == "background_solid"
            grounds |= {step["color"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]}
            grounds |= {prop["value"]["fixedColor"] for override in panel["fieldConfig"].get("overrides", [])
                        for prop in override["properties"] if prop["id"] == "color"}
        for prop in itertools.chain(*(override["properties"] for override in panel["fieldConfig"].get("overrides", []))):
            if prop["id"] == "mappings" and prop["value"][0]["type"] == "value":
                grounds |= {shown["color"] for mapping in prop["value"] for shown in mapping["options"].values()}
                assert {"color-background"} == {other["value"]["type"] for override in panel["fieldConfig"]["overrides"]
                                                if prop in override["properties"] for other in override["properties"]
                                                if other["id"] == "custom.cellOptions"}
    assert len(grounds) >= 6
    for ground in grounds - {"transparent"}:
        bright, dark = sorted((luminance(ground), luminance(text_on(ground))), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, ground
