"""The IOC's own server says which puts it was asked for: from the middle on, and with pauses, no put is lost or twice."""
import os
import shutil
import signal
import struct
import subprocess
import threading

import pytest
from harness import databases
from harness.exporter import run_exporter
from harness.ioc import copy_of_libraries
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--ca.witness"]
WITNESSED = "ioc_exporter_ioc_puts_witnessed"
DISAGREE = "ioc_exporter_ca_puts_disagree_total"


class Writer:
    """Writes without a pause until it is told to stop."""

    def __init__(self, client, channel):
        self.client, self.channel = client, channel
        self.sent = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.is_set():
            for _ in range(50):
                self.client.write(self.channel, self.sent)
                self.sent += 1

    def wait_for_more(self, count: int) -> None:
        goal = self.sent + count
        wait_until(lambda: self.sent >= goal, f"{count} more puts", 60)

    def stop(self) -> int:
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.client.get(self.channel)
        return self.sent


def targets(prefix: str) -> str:
    return databases.put_targets(prefix, 2)


def heard(exporter, ioc, is_heard: int = 1):
    return exporter.wait_scrape(lambda page: page.value(WITNESSED, ioc=ioc.name) == is_heard,
                                f"{ioc.name}'s server is{'' if is_heard else ' not'} heard")


def check(exporter, ioc, pv: str, count: int) -> None:
    assert ioc.get(f"{pv}:count.VAL") == count
    page = exporter.wait_scrape(lambda page: page.total(PUTS, ioc=ioc.name) == count, f"{count} puts")
    assert page.total(PUTS, ioc=ioc.name, pv=pv) == count
    assert page.series(DISAGREE, ioc=ioc.name) == []


def test_each_base(start_ioc, start_exporter, raw_client, base):
    ioc = start_ioc(f"witness-{base}", targets("V:"), base=base)
    exporter = start_exporter(sees=[ioc])
    heard(exporter, ioc)
    # The name is the server's own word: whoever writes has no channel of that name.
    owner, guest = raw_client(ioc, "owner", "console1"), raw_client(ioc, "guest", "console2")
    channel, own = owner.create("V:set1.VAL"), guest.create("V:set2")
    for i in range(23):
        guest.write(channel, i)
    guest.get(own)
    for i in range(19):
        assert owner.write_notify(channel, i) == 1
    page = exporter.scrape()
    puts = {(labels["pv"], labels["user"], labels["client_host"], labels["op"]): value
            for labels, value in page.series(PUTS, ioc=ioc.name)}
    assert puts == {("V:set1.VAL", "guest", "console2", "write"): 23,
                    ("V:set1.VAL", "owner", "console1", "write_notify"): 19}


def test_an_ioc_that_is_found_while_clients_write(start_exporter, start_ioc, raw_client):
    exporter = start_exporter("--ioc.include=found-late")
    ioc = start_ioc("found-late", targets("F:"))
    client = raw_client(ioc)
    writer = Writer(client, client.create("F:set1"))
    heard(exporter, ioc)
    writer.wait_for_more(5000)
    check(exporter, ioc, "F:set1", writer.stop())
    # Quiet by now, or soon: the server's word takes over.
    other = raw_client(ioc, "other")
    second = Writer(other, other.create("F:set2"))
    second.wait_for_more(5000)
    count = second.stop()
    assert exporter.scrape().total(PUTS, ioc=ioc.name, pv="F:set2") == count


def test_an_ioc_that_is_stopped_while_clients_write(start_exporter, start_ioc, raw_client):
    ioc = start_ioc("held", targets("S:"))
    exporter = start_exporter(sees=[ioc])
    heard(exporter, ioc)
    client = raw_client(ioc)
    writer = Writer(client, client.create("S:set1"))
    writer.wait_for_more(1000)
    os.kill(ioc.pid, signal.SIGSTOP)
    try:
        heard(exporter, ioc, 0)
    finally:
        os.kill(ioc.pid, signal.SIGCONT)
    heard(exporter, ioc)
    writer.wait_for_more(5000)
    check(exporter, ioc, "S:set1", writer.stop())


def test_more_than_the_budget(start_exporter, start_ioc, raw_client):
    """The tap takes over, and the page says so."""
    ioc = start_ioc("costly", targets("B:"))
    exporter = start_exporter("--overhead.budget=0.01", sees=[ioc])
    heard(exporter, ioc)
    client = raw_client(ioc)
    writer = Writer(client, client.create("B:set1"))
    heard(exporter, ioc, 0)
    writer.wait_for_more(1000)
    check(exporter, ioc, "B:set1", writer.stop())
    _, _, page = exporter.request("/")
    assert b"its probes would cost it more than --overhead.budget" in page


def stripped_libraries(base, into):
    """Copies of its libraries as images of containers have them."""
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("no strip in PATH")
    libraries = copy_of_libraries(base, into)
    for library in libraries.iterdir():
        subprocess.run([strip, "--strip-unneeded", library], check=True)
    return libraries


def test_a_stripped_library(start_ioc, start_exporter, raw_client, log_dir, base):
    """The functions are found by the server's table of commands."""
    libraries = stripped_libraries(base, log_dir / "lib")
    ioc = start_ioc(f"stripped-{base}", targets("Z:"), base=base, lib_dir=libraries)
    exporter = start_exporter(sees=[ioc])
    heard(exporter, ioc)
    owner, guest = raw_client(ioc, "owner", "console1"), raw_client(ioc, "guest", "console2")
    first, second = owner.create("Z:set1"), guest.create("Z:set2")
    for i in range(23):
        owner.write(first, i)
    owner.get(first)
    for i in range(19):
        assert guest.write_notify(second, i) == 1
    page = exporter.scrape()
    puts = {(labels["pv"], labels["user"], labels["client_host"], labels["op"]): value
            for labels, value in page.series(PUTS, ioc=ioc.name)}
    assert puts == {("Z:set1", "owner", "console1", "write"): 23,
                    ("Z:set2", "guest", "console2", "write_notify"): 19}


def hide_table_of_commands(library):
    """The dynamic linker makes the same of it, but its relocations are in no order, and their places hold no addresses."""
    elf = bytearray(library.read_bytes())
    segments, sections = struct.unpack_from("<QQ", elf, 32)
    segment_count, section_size, section_count = struct.unpack_from("<HHH", elf, 56)
    loads = [struct.unpack_from("<QQQQ", elf, at + 8) for at in range(segments, segments + 56 * segment_count, 56)
             if struct.unpack_from("<I", elf, at) == (1,)]
    headers = [struct.unpack_from("<IIQQQQ", elf, at)
               for at in range(sections, sections + section_size * section_count, section_size)]
    first, size = next((offset, size) for _, kind, _, _, offset, size in headers if kind == 4)  # .rela.dyn
    relocations = [bytes(elf[at:at + 24]) for at in range(first, first + size, 24)]
    relative = [one for one in relocations if struct.unpack_from("<I", one, 8) == (8,)]  # R_X86_64_RELATIVE
    for one in relative:
        place, = struct.unpack_from("<Q", one)
        offset = next(offset + place - start for offset, start, _, length in loads if start <= place < start + length)
        elf[offset:offset + 8] = bytes(8)
    others = [one for one in relocations if one not in set(relative)]
    elf[first:first + size] = b"".join(relative[::2] + relative[1::2] + others)
    library.write_bytes(elf)


def test_a_stripped_library_without_a_table_of_commands(start_exporter, start_ioc, raw_client, log_dir):
    """The count rests on the packets alone, and the page and --check say so."""
    libraries = stripped_libraries("7.0.7", log_dir / "lib")
    for library in libraries.glob("libdbCore.so.*"):
        hide_table_of_commands(library)
    ioc = start_ioc("no-table", targets("Z:"), base="7.0.7", lib_dir=libraries)
    exporter = start_exporter(sees=[ioc])
    heard(exporter, ioc, 0)
    client = raw_client(ioc)
    channel = client.create("Z:set1")
    for i in range(23):
        client.write(channel, i)
    client.get(channel)
    assert exporter.scrape().total(PUTS, ioc=ioc.name, pv="Z:set1") == 23
    alone = "Its puts are counted by what travels alone: its files name no functions write_action"
    assert alone in exporter.request("/")[2].decode()
    assert f"ioc {ioc.name}: {alone}" in run_exporter("--check", f"--ioc.include={ioc.name}").stdout


def test_without_it(start_exporter, start_ioc, raw_client):
    ioc = start_ioc("unheard", targets("N:"))
    exporter = start_exporter("--no-ca.witness", sees=[ioc])
    client = raw_client(ioc)
    channel = client.create("N:set1")
    for i in range(23):
        client.write(channel, i)
    client.get(channel)
    page = exporter.scrape()
    assert page.total(PUTS, ioc=ioc.name, pv="N:set1") == 23
    assert page.series(WITNESSED) == []
    assert page.series("ioc_exporter_probe_loaded", probe="ca_witness") == []
