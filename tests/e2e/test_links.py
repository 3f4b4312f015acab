"""Channel Access links of an IOC's records, from dbCa's own memory: which are connected, which are down and since when, by
name. The IOC's shell (dbcar) tells the same."""
import datetime
import json
import re

import pytest

from harness import env
from harness.exporter import run_exporter
from harness.ioc import stripped_libraries
from harness.ports import free_port
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.puts"]

INPUTS, OUTPUTS, MISSING = 7, 3, 5

FAR = "".join(f'record(calc,"LK:far{i}"){{field(CALC,"VAL+1") field(SCAN,"1 second")}}\n' for i in range(INPUTS))
FAR += "".join(f'record(ao,"LK:set{i}"){{}}\n' for i in range(OUTPUTS))

# To another IOC, to nobody, through Channel Access to a record of the same IOC; and links that are none of these.
NEAR = "".join(f'record(calc,"LK:in{i}"){{field(INPA,"LK:far{i} CP MS") field(INPB,"LK:near") field(CALC,"A")}}\n'
               for i in range(INPUTS))
NEAR += "".join(f'record(ao,"LK:out{i}"){{field(OUT,"LK:set{i} CA")}}\n' for i in range(OUTPUTS))
NEAR += "".join(f'record(ai,"LK:lost{i}"){{field(INP,"LK:nowhere{i}.HIHI CA") field(FLNK,"LK:near")}}\n'
                for i in range(MISSING))
NEAR += 'record(ai,"LK:itself"){field(INP,"LK:near CA")}\nrecord(ai,"LK:near"){field(INP,"5")}\n'
UP = INPUTS + OUTPUTS + 1

LOST = {f"LK:lost{i}.INP": f"LK:nowhere{i}.HIHI" for i in range(MISSING)}
FROM_FAR = {f"LK:in{i}.INPA": f"LK:far{i}" for i in range(INPUTS)} | {f"LK:out{i}.OUT": f"LK:set{i}" for i in range(OUTPUTS)}


def told_by(ioc):
    """({link: PV} that are down, number that are up, disconnects, lost writes) as the IOC's shell prints them."""
    rows = re.findall(r"^\s*(\S+?)\.(\S+)\s+(==|--)> (.+?)\s+\((\d+), (\d+)\)", ioc.shell('dbcar "" 2'), re.MULTILINE)
    down = {f"{record}.{field}": pv.split()[0] for record, field, arrow, pv, _, _ in rows if arrow == "--"}
    return (down, sum(row[2] == "==" for row in rows), sum(int(row[4]) for row in rows), sum(int(row[5]) for row in rows))


def command(exporter, *arguments):
    return run_exporter("links", f"--url=http://127.0.0.1:{exporter.port}", *arguments)


def told_by_exporter(exporter, ioc):
    """The same, once its scrape says so too."""
    scrape = exporter.scrape()
    series = {labels["state"]: int(value) for labels, value in scrape.series("epics_ioc_ca_links", ioc=ioc.name)}
    if not series:
        return None
    answer = json.loads(command(exporter, "--json", ioc.name).stdout)
    down = {f"{link['record']}.{link['field']}": link["pv"] for link in answer["down"]}
    counts = [scrape.count(f"epics_ioc_ca_link_{name}_total", ioc=ioc.name) for name in ("disconnects", "lost_writes")]
    assert series["disconnected"] == answer["disconnected"] == len(down)
    return (down, series["connected"], *counts)


def wait_agreed(exporter, ioc, wanted, what):
    """Until the IOC's shell says so; then the exporter does."""
    wait_until(lambda: told_by(ioc)[:3] == wanted, f"{what}, as dbcar says")
    wait_until(lambda: told_by_exporter(exporter, ioc) == told_by(ioc), what)


@pytest.mark.outer_bases
def test_links_come_and_go(start_ioc, start_exporter, base):
    port = free_port()
    far = start_ioc(f"links-far-{base}", FAR, base=base, port=port)
    ioc = start_ioc(f"links-{base}", NEAR, base=base, links_to=[port], lib_dir=env.base_dir(base) / "lib")
    exporter = start_exporter(sees=[ioc])
    wait_agreed(exporter, ioc, (LOST, UP, 0), "all links but those to nobody are up")

    # Faster than dbCa's thread sends them: the later one counts.
    ioc.shell("processInBursts LK:out0 997 1 0")
    wait_agreed(exporter, ioc, (LOST, UP, 0), "writes that were replaced")
    assert told_by(ioc)[3] > 0

    began = datetime.datetime.now(datetime.timezone.utc).isoformat()
    far.kill()
    wait_agreed(exporter, ioc, (LOST | FROM_FAR, 1, INPUTS + OUTPUTS), "the other IOC's links are down")
    down = {link["record"]: link for link in json.loads(command(exporter, "--json", ioc.name).stdout)["down"]}
    assert all(down[f"LK:in{i}"]["ever_connected"] and down[f"LK:in{i}"]["down_since"] > began for i in range(INPUTS))
    assert all(not down[f"LK:lost{i}"]["ever_connected"] and down[f"LK:lost{i}"]["down_since"] < began
               for i in range(MISSING))
    text = command(exporter, ioc.name).stdout
    assert re.search(r"^LK:in3\.INPA +LK:far3 .* yes$", text, re.MULTILINE)
    assert re.search(r"^LK:lost4\.INP +LK:nowhere4\.HIHI .* no$", text, re.MULTILINE)
    assert text.endswith(f"{ioc.name}: {INPUTS + OUTPUTS + MISSING} of {UP + MISSING} Channel Access links are down\n")
    page = exporter.request("/")[2].decode()
    assert "LK:in3.INPA" in page and "LK:nowhere4.HIHI" in page

    start_ioc(f"links-far-{base}", FAR, base=base, port=port)
    wait_agreed(exporter, ioc, (LOST, UP, INPUTS + OUTPUTS), "they are up again")

    # A link field that is set to another PV.
    ioc.put("LK:lost0.INP", "LK:near CA")
    ioc.put("LK:lost1.INP", "3")
    ioc.put("LK:lost2.INP", "LK:elsewhere CA")
    lost = {link: pv for link, pv in LOST.items() if not link.startswith(("LK:lost0", "LK:lost1"))}
    lost["LK:lost2.INP"] = "LK:elsewhere"
    wait_agreed(exporter, ioc, (lost, UP + 1, INPUTS + OUTPUTS), "links to other PVs")


def test_stripped_libraries(start_ioc, start_exporter, log_dir):
    """Nothing that is read for links is local to a library."""
    ioc = start_ioc("links-stripped", NEAR, base="7.0.7", lib_dir=stripped_libraries("7.0.7", log_dir / "lib"))
    exporter = start_exporter(sees=[ioc])
    wait_agreed(exporter, ioc, (LOST | FROM_FAR, 1, 0), "only the link to itself is up")


def test_what_the_command_says(start_ioc, start_exporter):
    ioc = start_ioc("links-none", 'record(ai,"LK:alone"){}\n')
    exporter = start_exporter(sees=[ioc])
    wait_until(lambda: told_by_exporter(exporter, ioc) == ({}, 0, 0, 0), "an IOC without such links")
    assert command(exporter, ioc.name).stdout == "links-none: 0 of 0 Channel Access links are down\n"
    unknown = command(exporter, "links-nobody")
    assert (unknown.returncode, unknown.stdout) == (3, "") and "no IOC links-nobody runs" in unknown.stderr
    assert command(exporter).returncode == 2
