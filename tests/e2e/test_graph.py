"""/graph: what a record sets in motion."""
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from harness import databases
from harness.exporter import run_exporter
from harness.scrape import PROCESSED

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
