"""What waits for a receiver of the put log on disk: through kills of either end, each put comes."""
import contextlib
import http.server
import json
import threading

import pytest

from harness import clients
from harness.ports import free_port
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--collector.putlog", "--putlog.burst=0s"]
DATABASE = 'record(ao,"W:a"){} record(ao,"W:b"){}'
EVENTS, FILTERED, DROPPED, WAITING, SPOOLED, FOUND = (f"ioc_exporter_putlog_{name}" for name in (
    "events_total", "filtered_total", "dropped_total", "waiting", "spool_waiting", "spool_found_total"))


class Loki(http.server.ThreadingHTTPServer):
    """Loki's push API as its description has it. `came`: numbers, with each push that was answered."""
    allow_reuse_address = True

    def __init__(self, port: int, came: list[list[int]], most: int = 2**63):
        """It answers so many pushes; of the next one nobody is told that it was taken, and it hangs up."""
        left = [most]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                push = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                came.append([json.loads(line)["seq"] for stream in push["streams"] for _, line, _ in stream["values"]])
                left[0] -= 1
                if left[0] < 0:
                    self.close_connection = True
                    return
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


@pytest.fixture(scope="module")
def ioc(shared):
    return shared.ioc("spool", DATABASE)


@pytest.fixture
def place(start_exporter, ioc, tmp_path):
    """(port of a Loki that is not there, a folder, start(): an exporter that is to send there)."""
    port, folder = free_port(), tmp_path / "spooled"
    folder.mkdir(0o755)
    (folder / "site.yml").write_text(f"""
        putlog:
          sinks:
            - {{loki: 'http://127.0.0.1:{port}'}}
            - {{file: {folder}/puts.jsonl}}
    """)

    def start(*options):
        return start_exporter(f"--config.file={folder}/site.yml", f"--putlog.spool={folder}/spool", *options, sees=[ioc])

    return port, folder, start


def accounted(page, came: int, sink: str = "loki") -> bool:
    known = sum(page.value(name, sink=sink) for name in (EVENTS, FILTERED, WAITING)) + page.total(DROPPED, sink=sink)
    return known == came + page.value(FOUND, sink=sink)


def test_puts_survive_a_killed_exporter(place, connect, ioc):
    port, folder, start = place
    exporter = start()
    sent = connect(clients.libca, [ioc], ["W:a", "W:b"], 230).send()
    page = exporter.wait_scrape(lambda page: page.value(SPOOLED, sink="loki") == sent, "all puts wait on disk")
    assert accounted(page, sent) and page.value(WAITING, sink="loki") == sent
    exporter.process.kill()
    came: list[list[int]] = []
    second = start()
    page = second.wait_scrape(lambda page: page.value(SPOOLED, sink="loki") == sent, "they still do")
    assert page.value(FOUND, sink="loki") == sent and accounted(page, 0)
    with Loki(port, came):
        page = second.wait_scrape(lambda page: page.value(EVENTS, sink="loki") == sent, "all were sent")
        assert accounted(page, 0) and page.value(WAITING, sink="loki") == 0
        assert [seq for push in came for seq in push] == list(range(1, sent + 1))
    # Stopped while nobody takes them, and under another name: kept, and told.
    more = connect(clients.libca, [ioc], ["W:a"], 23).send()
    second.wait_scrape(lambda page: page.value(SPOOLED, sink="loki") == more, "more wait on disk")
    assert second.stop() == 0
    (folder / "site.yml").write_text(f"putlog: {{sinks: [{{name: other, loki: 'http://127.0.0.1:{port}'}}]}}")
    third = start()
    assert f"{folder}/spool/loki.sqlite is of no sink now and is kept" in third.process.stderr()
    assert (folder / "spool/loki.sqlite").stat().st_size > 0 and (folder / "spool/other.sqlite").exists()


def test_a_receiver_that_is_killed_in_a_flood_has_all(place, connect, ioc):
    """Again and again, each time with a push that it took and did not answer."""
    port, folder, start = place
    exporter = start()
    came: list[list[int]] = []
    floods = [connect(clients.libca, [ioc], [pv], 6_000) for pv in ("W:a", "W:b")]
    for flood in floods:
        flood.start_sending()
    for kill in range(4):
        with Loki(port, came, most=2):
            before = len(came)
            wait_until(lambda: len(came) >= before + 3, "it was killed", 60)
    sent = sum(flood.wait_sent() for flood in floods)
    with Loki(port, came):
        page = exporter.wait_scrape(lambda page: page.value(EVENTS, sink="loki") == sent, "all were sent", 60)
    assert accounted(page, sent) and page.value(WAITING, sink="loki") == page.total(DROPPED, sink="loki") == 0
    assert page.total(DROPPED, sink="kernel") == 0
    told = [json.loads(line)["seq"] for path in folder.glob("puts.jsonl*") for line in path.read_text().splitlines()]
    assert sorted(told) == list(range(1, sent + 1))
    numbers = [seq for push in came for seq in push]
    assert set(numbers) == set(told)
    # Twice came what was not answered, and nothing else; whatever came first is in order.
    assert list(dict.fromkeys(numbers)) == sorted(set(numbers))
    assert len(numbers) > len(set(numbers))
