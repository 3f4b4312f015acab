"""packaging/rsyslog: the put log's lines by rsyslog to a receiver that is away for a while."""
import contextlib
import http.server
import json
import pathlib
import re
import shutil
import socket
import threading

import pytest

from harness import clients
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--collector.putlog", "--putlog.burst=0s"]
CONFIGURATIONS = pathlib.Path(__file__).parents[2] / "packaging/rsyslog"
FILE_SIZE = 64 << 10


class Receiver:
    """Lines of JSON over TCP, from whoever connects: their numbers into `known`."""

    def __init__(self, port: int, known: dict[int, int]):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.known = known
        self.streams: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                stream = self.listener.accept()[0]
                self.streams.append(stream)
                threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        with contextlib.suppress(OSError), stream.makefile("r") as lines:
            self.known.update((json.loads(line)["seq"],) * 2 for line in lines if line.endswith("\n"))

    def close(self):
        for end in (self.listener, *self.streams):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Elasticsearch(http.server.ThreadingHTTPServer):
    """Its bulk API, as its description has it: there is no Elasticsearch here. Numbers of documents by their id into `known`."""

    def __init__(self, port: int, known: dict[str, int]):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, body: dict) -> None:
                text = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):  # is it there?
                self.answer({})

            def do_POST(self):
                lines = self.rfile.read(int(self.headers["Content-Length"])).splitlines()
                items = []
                for action, document in zip(lines[::2], lines[1::2], strict=True):
                    where = json.loads(action)["index"]
                    assert self.path.startswith("/_bulk") and where["_index"] == "epics-puts" and "_type" not in where
                    known.setdefault(where["_id"], json.loads(document)["seq"])
                    items.append({"index": {**where, "status": 201}})
                self.answer({"took": 1, "errors": False, "items": items})

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture
def rsyslogd(started, tmp_path):
    """start(configuration, port): an rsyslogd with the project's configuration, on files of this test."""
    program = shutil.which("rsyslogd", path="/usr/sbin:/usr/bin")
    if program is None:
        pytest.skip("there is no rsyslogd")

    def start(configuration: str, port: int, folder: pathlib.Path):
        work = tmp_path / "rsyslog"
        work.mkdir()
        text = (CONFIGURATIONS / configuration).read_text().replace("/var/spool/rsyslog", str(work))
        for ours, its in (("LOGHOST", "127.0.0.1"), (re.compile('"(5044|9200)"'), f'"{port}"'), ("/var/log/ioc_exporter", str(folder))):
            text, count = re.subn(ours, its, text)
            assert count == 1
        (work / "ioc_exporter.conf").write_text(text)
        (work / "rsyslog.conf").write_text(f"$WorkDirectory {work}\n$IncludeConfig {work}/ioc_exporter.conf\n")
        return started.add(Process("rsyslogd", [program, "-n", "-f", f"{work}/rsyslog.conf", "-i", f"{work}/pid"], tmp_path))

    return start


@pytest.mark.parametrize("configuration, receive", [("ioc_exporter.conf", Receiver), pytest.param(
    "elasticsearch.conf", Elasticsearch, marks=pytest.mark.skipif(
        not list(pathlib.Path("/usr/lib").glob("*/rsyslog/omelasticsearch.so")), reason="there is no rsyslog-elasticsearch"))])
def test_each_put_comes_through_an_outage_of_the_receiver(configuration, receive, rsyslogd, start_ioc, start_exporter, connect,
                                                          tmp_path):
    ioc = start_ioc("rsyslog", 'record(ao,"R:a"){} record(ao,"R:b"){}')
    folder = tmp_path / "puts"
    folder.mkdir(0o755)
    exporter = start_exporter(f"--putlog.file={folder}/puts.jsonl", f"--set=putlog.file_size={FILE_SIZE}", sees=[ioc])
    port, known = free_port(), {}
    receiver = receive(port, known)
    rsyslogd(configuration, port, folder)
    sent = connect(clients.libca, [ioc], ["R:a", "R:b"], 523).send()
    has_all = lambda: sorted(known.values()) == list(range(1, sent + 1))
    wait_until(has_all, "the receiver has all", 60)
    # Away when it has read all: what was under way to one that dies would be lost.
    receiver.close()
    files = len(list(folder.iterdir()))
    sent += connect(clients.libca, [ioc], ["R:a", "R:b"], 1009).send()
    wait_until(lambda: len(list(folder.iterdir())) > files, "files were rotated meanwhile", 60)
    exporter.wait_scrape(lambda page: page.sink("file")["delivered"] == sent, "the files have all")
    receiver = receive(port, known)
    wait_until(has_all, "the receiver has all again", 120)
    receiver.close()
