"""IOCs whose main thread ends while they run, as without a shell: softIoc -S, and main() with epicsThreadExitMain()."""
from harness import databases
from harness.named_client import NamedClient
from harness.scrape import PROCESSED, PUTS

BASE = "7.0.7"  # in C: the tests' own launcher knows how to end its main thread


def database(prefix: str) -> str:
    return databases.put_targets(prefix, 1) + f'record(calc,"{prefix}n"){{field(CALC,"VAL+1")}}\n'


class Watched:
    """An IOC with clients of known puts."""

    def __init__(self, ioc, exporter, prefix: str):
        self.ioc, self.exporter, self.prefix = ioc, exporter, prefix
        self.puts: dict[tuple[str, str], int] = {}

    def end_main(self) -> None:
        self.ioc.shell("@exitMain")
        with open(f"/proc/{self.ioc.pid}/stat") as stat:
            assert stat.read().rpartition(")")[2].split()[0] == "Z", "the main thread is still there"

    def process(self, times: int) -> None:
        self.ioc.process_once(f"{self.prefix}n", times)

    def put(self, client: NamedClient, user: str, host: str, count: int) -> None:
        client.put(f"{self.prefix}set1", count)
        client.wait_done()
        self.puts[user, host] = self.puts.get((user, host), 0) + count

    def heard(self) -> None:
        self.exporter.wait_scrape(lambda s: s.put_source(self.ioc) == "server",
                                  f"the server of {self.ioc.name} is heard")

    def check(self) -> None:
        """All that it has done is counted, and nobody has seen it end."""
        name, total = self.ioc.name, sum(self.puts.values())
        processed = self.ioc.get(f"{self.prefix}n.VAL")
        assert self.ioc.get(f"{self.prefix}set1:count.VAL") == total
        # Puts that the server probe missed are counted by packets, once that is known.
        scrape = self.exporter.wait_scrape(lambda s: s.total(PUTS, ioc=name) >= total, f"{total} puts to {name}")
        puts = {(labels["user"], labels["client_host"]): value
                for labels, value in scrape.series(PUTS, ioc=name, pv=f"{self.prefix}set1")}
        assert puts == self.puts
        assert scrape.total(PUTS, ioc=name) == total
        assert scrape.count(PROCESSED, ioc=name, record=f"{self.prefix}n") == processed
        assert scrape.value("epics_ioc_up", ioc=name) == 1
        assert scrape.value("epics_ioc_restarts_total", ioc=name) == 0
        assert scrape.ioc_of_pid(self.ioc.pid) == name
        assert scrape.value("epics_ioc_open_fds", ioc=name) > 3
        assert scrape.value("epics_ioc_resident_memory_bytes", ioc=name) > 1e6


def test_main_thread_ends(start_ioc, start_exporter, started):
    ended = start_ioc("main-ended", database("A:"), base=BASE)
    ending = start_ioc("main-ends", database("B:"), base=BASE)
    ended.shell("@exitMain")
    early = started.add(NamedClient(ended.port, "operator", "console")).open("A:set1")
    early.wait_done()
    exporter = start_exporter("--server-probe", "--ioc.include=main-.*", sees=[ended, ending])
    one, two = Watched(ended, exporter, "A:"), Watched(ending, exporter, "B:")
    late = {"A:": started.add(NamedClient(ended.port, "physicist", "laptop")).open("A:set1"),
            "B:": started.add(NamedClient(ending.port, "physicist", "laptop")).open("B:set1")}
    for watched in (one, two):
        watched.heard()
        watched.process(23)
        watched.put(late[watched.prefix], "physicist", "laptop", 19)
    one.put(early, "operator", "console", 17)
    for watched in (one, two):
        watched.check()

    # While it is followed: what comes before the exporter knows counts, too.
    two.end_main()
    two.put(late["B:"], "physicist", "laptop", 29)
    exporter.process.wait_for(rf"ioc main-ends \(pid {ending.pid}\): its main thread has ended", "stderr")
    two.heard()
    two.process(11)
    two.put(late["B:"], "physicist", "laptop", 31)
    for watched in (one, two):
        watched.check()

    # One that starts after the exporter, and ends its main thread at once.
    third = Watched(start_ioc("main-third", database("C:"), base=BASE), exporter, "C:")
    third.end_main()
    exporter.wait_up(third.ioc)
    client = started.add(NamedClient(third.ioc.port, "guest", "desk")).open("C:set1")
    third.heard()
    third.put(client, "guest", "desk", 13)
    for watched in (one, two, third):
        watched.process(7)
        watched.check()

    # Its end is seen, and the others are counted on.
    ended.kill()
    exporter.wait_scrape(lambda s: s.value("epics_ioc_up", ioc=ended.name) == 0, "up of the killed IOC is 0")
    two.put(late["B:"], "physicist", "laptop", 5)
    for watched in (two, third):
        watched.process(3)
        watched.check()
