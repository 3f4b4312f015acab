"""The simulated site of bench/site.sh, a small one: its pages are as an exporter's, and the rules and all queries of the
dashboards go through on a real Prometheus. What they cost with a thousand IOCs is in docs/scaling.md."""
import collections
import shutil
import subprocess
import sys

import pytest

from project import ROOT, documented_metrics, run_tool

sys.path.append(str(ROOT / "bench"))
from site_pages import Site  # noqa: E402

SMALL = ["--hosts=2", "--iocs=3", "--records=20", "--processing=5", "--pvs=2", "--past=2", "--full=4",
         "--rule-interval=1", "--rule-rounds=3", "--rounds=1", "--spans=10m"]


@pytest.mark.parametrize("types", [0, 4])
def test_pages_are_an_exporters(types):
    site = Site(iocs=3, records=20, processing=5, pvs=2, recorded=[], types=types)
    lines = site.page(1, 1_790_000_000).splitlines()
    names = {line.split("{")[0].split(" ")[0] for line in lines}
    assert len(lines) == site.series() and not names - documented_metrics()
    twice = [series for series, times in collections.Counter(line.rpartition(" ")[0] for line in lines).items() if times > 1]
    assert not twice
    later = site.page(1, 1_790_000_060).splitlines()
    grown = [line for line, other in zip(lines, later) if line != other]
    assert grown and all("_total" in line or "_sum" in line or "_count" in line or "_bucket" in line for line in grown)


@pytest.mark.parametrize("types", [0, 4])
def test_rules_and_panels_go_through(types):
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    done = subprocess.run([sys.executable, "-B", ROOT / "bench/site.py", *SMALL, f"--types={types}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("epics_puts_rates", "puts: the whole dashboard", "exporter: the whole dashboard"):
        assert line in done.stdout
