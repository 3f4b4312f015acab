"""The IOC's own server says which puts it was asked for; a switch to packets and back counts none twice."""
import contextlib
import ctypes
import os
import signal
import struct
import threading
import time

import pytest
from harness import databases
from harness.exporter import run_exporter
from harness.ioc import stripped_libraries
from harness.put_log import PutLog
from harness.scrape import PUTS
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--server-probe"]
FAILURES, DURATION = "epics_put_failures_total", "epics_put_duration_seconds"
SWITCHES = "ioc_exporter_put_source_switch_total"
UNREAD = "ioc_exporter_ca_unread_bytes_total"
RATE = 5000  # puts a second
PTRACE_SEIZE, PTRACE_DETACH, PTRACE_INTERRUPT, WALL = 0x4206, 17, 0x4207, 0x40000000


class Writer:
    """Writes without a pause, or RATE puts a second, until it is told to stop."""

    def __init__(self, client, channel, paced: bool = False):
        self.client, self.channel, self.paced = client, channel, paced
        self.sent = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        started = time.monotonic()
        while not self._stop.is_set():
            if self.paced and self.sent > RATE * (time.monotonic() - started):
                time.sleep(0.005)
                continue
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


def told_by(exporter, ioc, source: str):
    return exporter.wait_scrape(lambda page: page.put_source(ioc) == source, f"{ioc.name}'s puts are told by {source}")


def switches(page, ioc) -> int:
    return page.count(SWITCHES, ioc=ioc.name, protocol="ca")


def check_log(exporter, ioc, put_log: PutLog, sent: int) -> None:
    """Each put that is counted is told or counted as dropped, and none twice."""
    def came(page) -> float:
        return len(put_log.puts()) + put_log.dropped(page)

    page = exporter.wait_scrape(lambda page: came(page) >= page.total(PUTS, ioc=ioc.name), "each put is told or counted")
    assert came(page) <= sent


def puts_by_writer(exporter, ioc) -> dict[tuple[str, str, str, str], float]:
    return {(labels["pv"], labels["user"], labels["client_host"], labels["op"]): value
            for labels, value in exporter.scrape().series(PUTS, ioc=ioc.name)}


@pytest.mark.parametrize("libraries", ["whole", "stripped"])
def test_each_base(start_ioc, start_exporter, raw_client, log_dir, base, libraries):
    """In stripped libraries the functions are found by the server's table of commands."""
    lib_dir = stripped_libraries(base, log_dir / "lib") if libraries == "stripped" else None
    ioc = start_ioc(f"{libraries}-{base}", targets("V:"), base=base, lib_dir=lib_dir)
    exporter = start_exporter(sees=[ioc])
    told_by(exporter, ioc, "server")
    # The guest has no channel of that name: the server writes with the rights of the channel's owner, for the sender.
    owner, guest = raw_client(ioc, "owner", "console1"), raw_client(ioc, "guest", "console2")
    channel, own = owner.create("V:set1.VAL"), guest.create("V:set2")
    for i in range(23):
        guest.write(channel, i)
    guest.get(own)
    for i in range(19):
        assert owner.write_notify(channel, i) == 1
    assert puts_by_writer(exporter, ioc) == {("V:set1.VAL", "guest", "console2", "write"): 23,
                                             ("V:set1.VAL", "owner", "console1", "write_notify"): 19}
    page = exporter.scrape()
    assert page.count("epics_ca_puts_to_others_channels_total", ioc=ioc.name) == 23
    assert page.count(f"{DURATION}_count", ioc=ioc.name, pv="V:set1.VAL") == 19
    assert page.series(FAILURES, ioc=ioc.name) == []
    guest.write_text(channel, "no number")
    guest.get(own)
    for _ in range(7):
        owner.write_text(channel, "no number")
    assert owner.wait_written(owner.start_write_notify(channel, "neither")) != 1
    page = exporter.scrape()
    failures = {(labels["pv"], labels["user"], labels["reason"]): value
                for labels, value in page.series(FAILURES, ioc=ioc.name)}
    assert failures == {("V:set1.VAL", "owner", "put_failed"): 8, ("V:set1.VAL", "guest", "put_failed"): 1}
    assert page.count(f"{DURATION}_count", ioc=ioc.name, pv="V:set1.VAL") == 20
    for i in range(11):
        guest.start_write_notify(channel, i)  # the answer goes to the channel's client
        guest.get(own)
    page = exporter.wait_scrape(lambda page: page.count(f"{DURATION}_count", ioc=ioc.name, pv="V:set1.VAL") == 31,
                                "the guest's put-callbacks")
    assert puts_by_writer(exporter, ioc)["V:set1.VAL", "guest", "console2", "write_notify"] == 11
    assert page.count("epics_ca_puts_to_others_channels_total", ioc=ioc.name) == 35


@contextlib.contextmanager
def stopped(exporter, ioc):
    os.kill(ioc.pid, signal.SIGSTOP)
    try:
        told_by(exporter, ioc, "packets")
        yield
    finally:
        os.kill(ioc.pid, signal.SIGCONT)


@contextlib.contextmanager
def debugged(exporter, ioc):
    """All its threads are traced; a main thread that has ended cannot be."""
    libc = ctypes.CDLL(None, use_errno=True)
    threads = [thread for thread in map(int, os.listdir(f"/proc/{ioc.pid}/task"))
               if libc.ptrace(PTRACE_SEIZE, thread, None, None) == 0]
    assert threads, os.strerror(ctypes.get_errno())
    try:
        told_by(exporter, ioc, "packets")
        yield
    finally:
        for thread in threads:
            libc.ptrace(PTRACE_INTERRUPT, thread, None, None)
            os.waitpid(thread, WALL)  # it has stopped, so that it can be let go
            assert libc.ptrace(PTRACE_DETACH, thread, None, None) == 0, os.strerror(ctypes.get_errno())


@contextlib.contextmanager
def signalled(exporter, ioc):
    exporter.process.popen.send_signal(signal.SIGUSR1)
    told_by(exporter, ioc, "none")
    yield
    exporter.process.popen.send_signal(signal.SIGUSR2)


@contextlib.contextmanager
def detached(exporter, ioc):
    assert exporter.request("/-/detach", "POST")[0] == 200
    told_by(exporter, ioc, "none")
    yield
    assert exporter.request("/-/attach", "POST")[0] == 200


@pytest.mark.parametrize("switch", [stopped, debugged, signalled, detached], ids=lambda switch: switch.__name__)
def test_switches_while_a_client_writes(start_exporter, start_ioc, raw_client, log_dir, switch):
    """Puts at a switch are counted once or not at all, those before and after exactly; puts while all probes are off are
    bytes of the stream that were not read."""
    ioc = start_ioc(f"switched-{switch.__name__}", targets("S:"))
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter("--web.enable-lifecycle", *put_log.options, sees=[ioc])
    before = told_by(exporter, ioc, "server")
    client = raw_client(ioc)
    channel, sent = client.create("S:set1"), 0
    has_packets = switch in (stopped, debugged)
    for _ in range(3):
        writer = Writer(client, channel, paced=True)
        pages = [before]
        with switch(exporter, ioc):
            writer.wait_for_more(1000)
            pages.append(exporter.scrape())
        pages.append(told_by(exporter, ioc, "server"))
        meanwhile = writer.stop()
        pages.append(exporter.scrape())
        counted = [page.total(PUTS, ioc=ioc.name) for page in pages]
        assert counted == sorted(counted) and counted[-1] - counted[0] <= meanwhile, (counted, meanwhile)
        steady = Writer(client, channel, paced=True)
        steady.wait_for_more(1000)
        sent += meanwhile + steady.stop()
        before = exporter.scrape()
        assert before.total(PUTS, ioc=ioc.name) - counted[-1] == steady.sent
        assert switches(before, ioc) - switches(pages[0], ioc) == (2 if has_packets else 0)
        check_log(exporter, ioc, put_log, sent)
    assert ioc.get("S:set1:count.VAL") == sent
    assert has_packets or before.count(UNREAD, ioc=ioc.name) > 0


def test_what_a_stopped_ioc_has_to_serve(start_exporter, start_ioc, raw_client, log_dir):
    """Packets count it: its server, which takes 4 s for it, does not again. Of these puts it reads 31 ahead."""
    ioc = start_ioc("backlog", 'record(waveform, "S:array") { field(FTVL, "DOUBLE") field(NELM, "64") field(FLNK, "S:slow") }'
                               'record(sub, "S:slow") { field(SNAM, "slow_if_told") field(A, "1") field(B, "10000") }',
                    base="7.0.7")
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*put_log.options, sees=[ioc])
    told_by(exporter, ioc, "server")
    client = raw_client(ioc)
    channel = client.create("S:array")
    with stopped(exporter, ioc):
        for value in range(401):
            client.write(channel, value, 64)
    told_by(exporter, ioc, "server")
    wait_until(lambda: ioc.get("S:slow.L") == 401, "each is served", 60)
    page = exporter.scrape()
    assert page.total(PUTS, ioc=ioc.name) == 401
    check_log(exporter, ioc, put_log, 401)
    assert switches(page, ioc) == 2


def test_lives_that_end_before_they_are_noticed(start_exporter, start_ioc, raw_client, log_dir):
    """An IOC that returns at once under its name and port: whichever process has served a put, it is counted once or not at
    all."""
    ioc = start_ioc("short-lived", targets("L:"), base="7.0.7")
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter(*put_log.options, sees=[ioc])
    told_by(exporter, ioc, "server")
    sent = 0
    for life in range(10):
        client = raw_client(ioc)
        channel = client.create("L:set1")
        end = time.monotonic() + 0.9 + 0.03 * life
        while time.monotonic() < end:
            for _ in range(23):
                client.write(channel, sent)
                sent += 1
            client.get(channel)
            time.sleep(0.01)
        ioc.kill()
        ioc = start_ioc(ioc.name, targets("L:"), base="7.0.7", port=ioc.port)
    page = told_by(exporter, ioc, "server")
    counted = page.total(PUTS, ioc=ioc.name)
    assert counted == page.total(PUTS, ioc=ioc.name, pv="L:set1") <= sent
    assert switches(page, ioc) == 0, "packets count none"
    client = raw_client(ioc)
    channel = client.create("L:set1")
    for i in range(23):
        client.write(channel, i)
    client.get(channel)
    assert exporter.scrape().total(PUTS, ioc=ioc.name) == counted + 23
    check_log(exporter, ioc, put_log, sent + 23)


def test_probes_that_stay_for_other_iocs(start_exporter, start_ioc, raw_client):
    """IOCs whose main threads have ended share theirs: one that packets tell of is not counted by both."""
    iocs = [start_ioc(f"sharing-{i}", targets(f"{i}:"), base="7.0.7") for i in "AB"]
    for ioc in iocs:
        ioc.shell("@exitMain")
    exporter = start_exporter(sees=iocs)
    for ioc in iocs:
        told_by(exporter, ioc, "server")
    clients = [raw_client(ioc) for ioc in iocs]
    channels = [client.create(f"{i}:set1") for client, i in zip(clients, "AB")]

    def write(counts):
        for client, channel, count in zip(clients, channels, counts):
            for value in range(count):
                client.write(channel, value)
            client.get(channel)

    write([23, 19])
    with debugged(exporter, iocs[0]):
        write([17, 13])
        page = exporter.scrape()
        assert [page.total(PUTS, ioc=ioc.name) for ioc in iocs] == [40, 32]
    told_by(exporter, iocs[0], "server")
    write([11, 7])
    page = exporter.scrape()
    assert [page.total(PUTS, ioc=ioc.name) for ioc in iocs] == [51, 39]


def test_a_flood_of_puts_does_not_take_the_probes_off(start_exporter, start_ioc, raw_client, log_dir):
    """The budget is for the probes of records: who writes must not choose who counts his puts. Each is told, or counted as
    dropped."""
    ioc = start_ioc("costly", targets("B:"))
    put_log = PutLog(log_dir / "puts.json")
    exporter = start_exporter("--collector.records", "--overhead.budget=0.01", *put_log.options, sees=[ioc])
    told_by(exporter, ioc, "server")
    client = raw_client(ioc)
    writer = Writer(client, client.create("B:set1"))
    sources = [exporter.scrape().put_source(ioc)
               for _ in range(10) if writer.wait_for_more(2000) is None]
    wait_until(lambda: "ioc costly: to count its puts costs" in exporter.process.stderr(), "a warning of what puts cost")
    sent = writer.stop()
    assert ioc.get("B:set1:count.VAL") == sent == exporter.scrape().total(PUTS, ioc=ioc.name)
    assert sources == ["server"] * 10
    exporter.wait_scrape(lambda page: page.sink("memory")["events"] + put_log.lost_before(page) == sent, "all came")
    assert switches(exporter.scrape(), ioc) == 0


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
    told_by(exporter, ioc, "packets")
    client = raw_client(ioc)
    channel = client.create("Z:set1")
    for i in range(23):
        client.write(channel, i)
    client.get(channel)
    assert exporter.scrape().total(PUTS, ioc=ioc.name, pv="Z:set1") == 23
    alone = "Its puts are counted from packets: its files name no functions write_action"
    assert alone in exporter.request("/")[2].decode()
    assert f"ioc {ioc.name}: {alone}" in run_exporter("--check", f"--ioc.include={ioc.name}").stdout
