"""Uprobes and packets do not need each other: what works where one of them is not allowed, and what --check says."""
import pytest

from harness import databases
from harness.exporter import run_exporter
from harness.scrape import PUTS

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]
LOADED = "ioc_exporter_probe_loaded"
WITHOUT = {"packets": ["net_raw"], "uprobes": ["sys_admin"]}


def without(*what: str) -> list[str]:
    """A command that takes the rights away."""
    rights = ",".join(f"-{right}" for one in what for right in WITHOUT[one])
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"] if what else []


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("rights", databases.put_targets("R:", 1))


@pytest.mark.parametrize(("missing", "source"), [((), "server"), (("packets",), "server"), (("uprobes",), "packets"),
                                                 (("packets", "uprobes"), "none")],
                         ids=lambda value: "-".join(value) or "nothing" if isinstance(value, tuple) else value)
def test_puts(ioc, start_exporter, raw_client, missing, source):
    exporter = start_exporter("--ioc.include=rights", sees=[ioc],
                              prefix=without(*missing))
    exporter.wait_scrape(lambda page: page.put_source(ioc) == source, f"{source} tells of puts")
    client = raw_client(ioc, f"without-{'-'.join(missing)}")
    channel = client.create("R:set1")
    for i in range(23):
        client.write(channel, i)
    for i in range(11):
        client.write_notify(channel, i)
    client.get(channel)
    page = exporter.scrape()
    counted = {labels["op"]: value for labels, value in page.series(PUTS, ioc=ioc.name, user=client.user)}
    assert counted == ({} if source == "none" else {"write": 23, "write_notify": 11})
    assert all(labels["pv"] == "R:set1" for labels, _ in page.series(PUTS, ioc=ioc.name, user=client.user))
    assert page.value(LOADED, probe="ca_tap") == (0 if "packets" in missing else 1)
    assert bool(page.series("epics_circuits", ioc=ioc.name)) == ("packets" not in missing)


@pytest.mark.parametrize("missing", WITHOUT)
def test_check_says_what_is_missing(ioc, missing):
    said = run_exporter("--check", "--ioc.include=rights", prefix=without(missing)).stdout
    if missing == "packets":
        assert "ca_tap          failed" in said
    else:
        assert "Its puts are counted from packets: attach uprobe" in said
