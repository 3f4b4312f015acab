"""Boards in a browser, on Grafana's dashboard runtime, with a real Prometheus."""
import re
import subprocess
import sys

import pytest

from project import ROOT

sys.path.append(str(ROOT / "tests/e2e"))
from harness import board_browser  # noqa: E402

HERE = 'job="ioc_exporter",instance="h:10064"'
GONE = 'job="ioc_exporter",instance="gone:10064"'


def put(ioc: str, pv: str, user: str, client: str, last: int, judged: str = "") -> dict[str, str]:
    who = f'protocol="ca",ioc="{ioc}",pv="{pv}",client="{client}",user="{user}",client_host="console",{HERE}'
    series = {f'epics_puts_total{{op="write",{who}}}': "0+3", f"epics_last_put_timestamp_seconds{{{who}}}": str(last)}
    if judged:
        series |= {f'epics_unexpected_puts_total{{rule="r",action="{judged}",{who}}}': "0+1",
                   f'epics_last_unexpected_put_timestamp_seconds{{rule="r",action="{judged}",{who}}}': str(last)}
    return series


SERIES = {f"up{{{HERE}}}": "1", f"up{{{GONE}}}": "0", f"ioc_exporter_build_info{{{HERE}}}": "1",
          f"ioc_exporter_build_info{{{GONE}}}": "1@600"}
SERIES |= {f'epics_ioc_up{{ioc="{ioc}",{HERE}}}': up for ioc, up in (("vac", "1"), ("rf.1", "1"), ("dead", "0"))}
SERIES |= {f'ioc:epics_ioc:state{{ioc="{ioc}",{HERE}}}': state for ioc, state in (("vac", "0"), ("rf.1", "3"), ("dead", "5"))}
SERIES |= {f'ioc:epics_ioc:attention{{ioc="{ioc}",{HERE}}}': state for ioc, state in (("vac", "0"), ("rf.1", "3"), ("dead", "5"))}
SERIES |= {f'ioc:epics_ioc:state{{ioc="unseen",{GONE}}}': "4", f'ioc:epics_ioc:attention{{ioc="unseen",{GONE}}}': "4",
           f'epics_record_process_self_seconds_total{{ioc="vac",record="VAC:A",{HERE}}}': "0+9"}
SERIES |= put("vac", "VAC:V1", "ann", "10.0.0.7", 1000, "unexpected") | put("vac", "VAC:V2", "bob", "10.0.0.8", 1001, "unexpected")
SERIES |= put("rf.1", "RF:INTERLOCK", "ann", "10.0.0.7", 900, "forbidden") | put("rf.1", "RF:X", "cy", "10.0.0.9", 999)
SERIES |= put("rf.1", "RF:Y", "cy", "10.0.0.9", 998)  # the same user: a program
SERIES[f'ioc_client_user:epics_puts:avg1h{{ioc="rf.1",client="10.0.0.9",user="cy",client_host="console",{HERE}}}'] = "1"
for name, severity, ioc in (("EpicsIocDown", "critical", "dead"), ("EpicsScanOverrun", "warning", "vac")):
    SERIES |= {f'ALERTS{{alertname="{name}",alertstate="firing",severity="{severity}",ioc="{ioc}",{HERE}}}': "1",
               f'ALERTS_FOR_STATE{{alertname="{name}",severity="{severity}",ioc="{ioc}",{HERE}}}': "1000"}


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    """One browser for all."""
    if board_browser.missing():
        pytest.skip(board_browser.missing())
    made = board_browser.Boards(tmp_path_factory.mktemp("boards"), SERIES)
    yield made
    made.stop()


def test_a_pv_leads_to_its_values_where_the_site_says(tmp_path):
    """By the page's command; a link to the dashboard cannot change where."""
    if board_browser.missing():
        pytest.skip(board_browser.missing())
    page = (ROOT / "docs/recipes.md").read_text()
    command, = [code for code in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) if "archiver" in code]
    subprocess.run(["sh", "-ec", command], cwd=ROOT, env={"DIRECTORY": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
    made = board_browser.Boards(tmp_path, SERIES, tmp_path)
    try:
        made.open("/d/ioc-exporter-puts?from=now-10m&to=now&var-pv=VAC:V1&var-archiver=https://elsewhere/&var-phoebus=x")
        last = made.read("Who wrote last")
        assert [row[:3] for row in last["rows"]] == [["PV", "Trend", "Phoebus"], ["VAC:V1", "plot", "open"]] and failures(made) == []
        plot, = [href for text, href, _ in last["links"] if text == "plot"]
        assert re.fullmatch(r"https://archiver\.example\.org/retrieval/ui/viewer/archViewer\.html\?pv=VAC%3AV1"
                            r"&from=20[0-9T:.-]+Z&to=20[0-9T:.-]+Z", plot)
        assert [href for text, href, _ in last["links"] if text == "open"] == ["pv://?app=databrowser&VAC:V1"]
        made.open("/d/ioc-exporter-records")
        (row,) = made.read("Slowest by self time, time shown")["rows"][1:]
        assert row[:4] == ["VAC:A", "plot", "open", "vac"]
    finally:
        made.stop()


def failures(boards) -> list[str]:
    return [problem for problem in boards.problems() if not problem.endswith(": no data")]


def test_lines_lead_to_their_ioc_and_its_exporter(boards):
    boards.open("/d/ioc-exporter-overview")
    assert failures(boards) == []
    lines = boards.read("IOCs, the worst first")
    assert re.findall(r"(\S+) (\w[\w ]*), (\S+)", lines["text"]) == [
        ("dead", "down", "h"), ("unseen", "not seen", "gone"), ("rf.1", "critical", "h"), ("vac", "ok", "h")]
    assert [title for _, _, title in lines["links"]] == ["dead", "unseen", "rf.1", "vac"]
    boards.click("IOCs, the worst first", "rf.1 critical, h")
    assert re.search(r"/d/ioc-exporter-iocs\?.*var-instance=h:10064&var-ioc=rf\.1$", boards.address())
    attention = boards.read("IOCs by what needs attention")
    assert failures(boards) == []
    assert [row[0] for row in attention["rows"][1:]] == ["rf.1"]
    boards.press("All again")
    attention = boards.read("IOCs by what needs attention")
    assert [row[:2] for row in attention["rows"][1:]] == [["dead", "down"], ["unseen", "not seen"], ["rf.1", "critical"], ["vac", "ok"]]
    assert boards.read("Hosts not seen")["text"].split()[-1] == "1"


def test_an_ioc_leads_to_its_records_and_puts_and_a_record_to_its_writers(boards):
    boards.open("/d/ioc-exporter-iocs?from=now-15m&to=now")
    boards.click("IOCs by what needs attention", "vac", "Its records")
    assert re.search(r"/d/ioc-exporter-records\?.*var-ioc=vac", boards.address()) and "from=now-15m" in boards.address()
    (row,) = boards.read("Slowest by self time, time shown")["rows"][1:]
    assert row[0] == "VAC:A" and "vac" in row
    boards.open("/d/ioc-exporter-iocs")
    boards.click("IOCs by what needs attention", "vac", "Its puts")
    assert {row[0] for row in boards.read("Who wrote last")["rows"][1:]} == {"VAC:V1", "VAC:V2"}


def test_an_alert_leads_to_its_page_on_an_exporter_that_answers(boards):
    boards.open("/d/ioc-exporter-iocs")
    alerts = boards.read("Alerts that fire")
    assert [row[:3] for row in alerts["rows"][1:]] == [["critical", "EpicsIocDown", "dead"], ["warning", "EpicsScanOverrun", "vac"]]
    assert "http://h:10064/runbooks/EpicsIocDown" in [href for _, href, _ in alerts["links"]]


def test_typed_names_are_followed_and_nothing_is_all(boards):
    """Forbidden puts first, then the latest; of those whose puts nothing is said about one a user, until one types something."""
    table, last = "Unexpected and forbidden puts, in the time shown", "Who wrote last"
    boards.open("/d/ioc-exporter-puts")
    assert failures(boards) == []
    rows = boards.read(table)["rows"][1:]
    assert [(row[0], row[3]) for row in rows] == [("forbidden", "RF:INTERLOCK"), ("unexpected", "VAC:V2"), ("unexpected", "VAC:V1")]
    for typed, pvs in (("VAC:V.*", ["VAC:V2", "VAC:V1"]), ("!VAC:V.*", ["RF:INTERLOCK", "RF:X", "RF:Y"]), (r"VAC:V[1]|\d", ["VAC:V1"]),
                       ("NO", []), ("", ["RF:INTERLOCK", "VAC:V2", "VAC:V1", "RF:X"])):
        boards.type("PV (expression, or !expression)", typed)
        assert [row[0] for row in boards.read(last)["rows"][1:]] == pvs, typed
        assert pvs or "No put to what is chosen and typed above" in boards.read(last)["text"]
    boards.click(table, "ann@console (10.0.0.7)")
    assert "var-user=ann" in boards.address()
    assert {(row[0], row[2]) for row in boards.read(last)["rows"][1:]} == {("VAC:V1", "ann"), ("RF:INTERLOCK", "ann")}


def test_a_grafana_without_a_loki_shows_one_closed_line_of_it(boards):
    boards.open("/d/ioc-exporter-puts")
    assert "Puts" not in boards.titles() and failures(boards) == []
