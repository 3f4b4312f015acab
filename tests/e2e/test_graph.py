"""/graph: what a record sets in motion."""
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from harness import databases, env
from harness.exporter import run_exporter
from harness.scrape import PROCESSED
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]

CHAIN = ["R:scan", "R:chain1", "R:chain2", "R:chain3", "R:async"]


@pytest.fixture
def ioc(start_ioc):
    ioc = start_ioc("graph", databases.counting(), macros="P=R:")
    ioc.put("R:scan.SCAN", "Passive")
    return ioc


def test_graph_of_a_chain(ioc, start_ioc, start_exporter):
    """With another IOC on the same library, whose probes see this one's calls, too."""
    other = start_ioc("neighbour", databases.counting(), macros="P=N:")
    exporter = start_exporter("--records.links=1000", "--ioc.include=graph|neighbour", sees=[ioc, other])
    ioc.process_once("R:trigger", times=7)  # another chain, that must not be in it
    before = exporter.scrape().counts(PROCESSED, ioc.name, CHAIN)
    ioc.process_once("R:scan", times=23)
    after = exporter.scrape().counts(PROCESSED, ioc.name, CHAIN)
    assert after["R:chain3"] - before["R:chain3"] == 23

    status, headers, body = exporter.request(f"/graph?ioc={ioc.name}&record=R:scan&format=dot")
    dot = body.decode()
    assert (status, headers["content-type"]) == (200, "text/vnd.graphviz; charset=utf-8")
    names = dict(re.findall(r'^  (n\d+) \[label="([^\\"]+)', dot, re.MULTILINE))
    counts = {name: int(count) for name, count in
              re.findall(r'\[label="(R:\w+)\\n\w+\\n(\d+) ×', dot)}
    assert {name: counts[name] for name in CHAIN} == after
    edges = {(names[a], names[b]): int(n) for a, b, n in
             re.findall(r'(n\d+) -> (n\d+) \[label="(\d+)"\]', dot)}
    for source, record in zip(CHAIN[:3], CHAIN[1:4]):
        assert edges[source, record] == after[record]
    assert "R:trigger" not in dot
    shallow = exporter.request(f"/graph?ioc={ioc.name}&record=R:scan&depth=1&format=dot")[2].decode()
    assert "R:chain1" in shallow and "R:chain2" not in shallow


def graph(exporter, *arguments):
    return run_exporter("graph", f"--url=http://127.0.0.1:{exporter.port}", *arguments)


def test_pages_and_the_command(start_ioc, start_exporter):
    ioc = start_ioc("pictured", databases.counting(), macros="P=R:")
    exporter = start_exporter("--records.links=1000", f"--ioc.include={ioc.name}", sees=[ioc])
    ioc.process_once("R:trigger", times=3)
    page = exporter.request("/graph?record=R:trigger")[2].decode()
    assert "R:slow" in page and "<form" in page and "<script" not in page
    assert "/graph" in exporter.request("/")[2].decode()
    for query, status in [("record=R:nothing", 404), ("record=R:scan&depth=x", 400),
                          ("record=R:trigger&format=svg", 400), ("record=R:nick&format=dot", 200), ("", 200)]:
        assert exporter.request(f"/graph?{query}")[0] == status, query

    done = graph(exporter, "R:trigger")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == exporter.request("/graph?record=R:trigger&format=text")[2].decode()
    head, first, *below = done.stdout.splitlines()
    assert head.split()[:2] == ["RECORD", "TYPE"]
    assert first.startswith("R:trigger  ") and any(re.match(r"  R:slow +\w+ +\d+ ", line) for line in below)
    done = graph(exporter, "--format=dot", f"--ioc={ioc.name}", "--depth", "1", "R:trigger")
    assert done.stdout.startswith("digraph records {") and "R:slow" in done.stdout
    if shutil.which("dot"):
        svg = subprocess.run(["dot", "-Tsvg"], input=done.stdout, capture_output=True, text=True, check=True).stdout
        texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
        assert "R:trigger" in texts and "R:slow" in texts
    done = graph(exporter, "R:nothing")
    assert done.returncode == 1 and "no running IOC has a record R:nothing" in done.stderr
    assert graph(exporter).returncode == 2


def test_without_the_option_it_says_so(start_exporter):
    status, _, body = start_exporter().request("/graph?record=R:scan")
    assert status == 404
    assert b"--records.links" in body


LINK = "epics_record_link_total"
# Each VAL counts how often the record processed.
BY_OTHER_THREADS = """
    record(calc,"T:source"){field(CALC,"VAL+1")}
    alias("T:source","T:nick")
    record(calc,"T:cp"){field(INPA,"T:source CP MS") field(INPB,"T:nick.VAL") field(CALC,"VAL+1") field(FLNK,"T:behind")}
    record(calc,"T:cpp"){field(INPC,"T:nick.VAL CPP") field(CALC,"VAL+1")}
    record(calc,"T:both"){field(INPC,"T:start CP") field(CALC,"VAL+1")}
    record(calc,"T:start"){field(CALC,"VAL+1") field(FLNK,"T:both")}
    record(calc,"T:behind"){field(CALC,"VAL+1")}
    record(calcout,"T:async"){field(CALC,"VAL+1") field(ODLY,"0.02") field(FLNK,"T:after")}
    record(calc,"T:after"){field(CALC,"VAL+1") field(FLNK,"T:last")}
    record(calc,"T:last"){field(CALC,"VAL+1")}
    record(sub,"T:asks"){field(SNAM,"request_once") field(DESC,"T:asked")}
    record(calc,"T:asked"){field(CALC,"VAL+1")}
"""


@pytest.mark.outer_bases
def test_links_in_other_threads(base, start_ioc, start_exporter):
    """CP and CPP links, forward links of asynchronous records, requests to scanOnce: each as often as the other record processed."""
    ioc = start_ioc("graph-threads", BY_OTHER_THREADS, base=base, lib_dir=env.base_dir(base) / "lib")  # not in Python
    exporter = start_exporter("--records.links=100", sees=[ioc])
    wait_until(lambda: " 3 connected" in ioc.shell('dbcar "" 0'), "the links are connected")
    ioc.get_settled(["T:cp.VAL", "T:cpp.VAL", "T:both.VAL"])

    def times(scrape, source, record):
        return scrape.count(LINK, ioc=ioc.name, source_record=source, record=record)

    def complete():
        done = ioc.get("T:last.VAL") + 1
        ioc.process_once("T:async")
        wait_until(lambda: ioc.get("T:last.VAL") == done, "its completion", every=0.002)

    def seen(scrape):
        complete()
        return times(scrape, "T:async", "T:after") > 0

    exporter.wait_scrape(seen, "completions of asynchronous records are seen")
    before, values = exporter.scrape(), ioc.get_all([f"T:{name}.VAL" for name in ("cp", "cpp", "both", "asked", "after")])
    for _ in range(23):  # one after the other: a link merges events that come faster than its record processes
        reached = ioc.get("T:cp.VAL") + 1
        ioc.process_once("T:source")
        wait_until(lambda: ioc.get("T:cp.VAL") == ioc.get("T:cpp.VAL") == reached, "its events", every=0.002)
    for _ in range(7):
        reached = ioc.get("T:both.VAL") + 2
        ioc.process_once("T:start")
        wait_until(lambda: ioc.get("T:both.VAL") == reached, "its forward link and its event", every=0.002)
    for _ in range(11):
        complete()
    ioc.process_once("T:asks", times=13)
    wait_until(lambda: ioc.get("T:asked.VAL") == values["T:asked.VAL"] + 13, "the requests")
    after = exporter.scrape()
    truth = {field: value - values[field] for field, value in ioc.get_all(list(values)).items()}
    assert truth == {"T:cp.VAL": 23, "T:cpp.VAL": 23, "T:both.VAL": 14, "T:asked.VAL": 13, "T:after.VAL": 11}
    links = {(labels["source_record"], labels["record"]): value - times(before, labels["source_record"], labels["record"])
             for labels, value in after.series(LINK, ioc=ioc.name)}
    assert links == {("T:source", "T:cp"): 23, ("T:source", "T:cpp"): 23, ("T:cp", "T:behind"): 23,
                     ("T:start", "T:both"): 14, ("T:async", "T:after"): 11, ("T:after", "T:last"): 11,
                     ("T:asks", "T:asked"): 13}
    assert after.total("ioc_exporter_dropped_total", probe="record_process") == 0
    tree = graph(exporter, "T:source").stdout
    assert re.search(r"^  T:cp +calc +\d+ ", tree, re.MULTILINE) and re.search(r"^    T:behind ", tree, re.MULTILINE)
