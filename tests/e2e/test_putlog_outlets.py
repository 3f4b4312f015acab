"""Where the put log's events go: the command, the API and the page, files that rotate, receivers."""
import contextlib
import http.server
import json
import os
import pathlib
import pty
import re
import select
import socket
import ssl
import stat
import subprocess
import threading
import time

import pytest

from harness import clients, env
from harness.exporter import run_exporter
from harness.ports import free_port
from harness.waiting import wait_stable, wait_until

EXPORTER_OPTIONS = ["--no-collector.records"]
FILE_SIZE = 4096
DATABASE = """
    record(ao,"O:a"){}
    record(ao,"O:b"){}
    record(ao,"O:secret"){}
"""


class LineReceiver:
    """As iocLogServer: lines over TCP, from whoever connects."""

    def __init__(self, port=0):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.lines: list[str] = []
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def _run(self):
        while True:
            with contextlib.suppress(OSError), self.listener.accept()[0] as stream, stream.makefile("r") as lines:
                self.lines.extend(line.rstrip("\n") for line in lines if line.endswith("\n"))


class LokiReceiver(http.server.ThreadingHTTPServer):
    """Loki's push API, with TLS, as its description has it: there is no Loki here."""

    def __init__(self, folder):
        self.certificate = folder / "loki.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "loki.key", "-out",
                        self.certificate], check=True, capture_output=True)
        pushes = self.pushes = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                pushes.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, folder / "loki.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def entries(self) -> list[list]:
        return [entry for _, push in self.pushes for stream in push["streams"] for entry in stream["values"]]


@pytest.fixture(scope="module")
def place(shared, tmp_path_factory):
    """An IOC, and an exporter with all kinds of sinks, in a folder of theirs."""
    folder = tmp_path_factory.mktemp("outlets")
    folder.chmod(0o755)
    (folder / "salt").write_text("0123456789abcdef0123456789abcdef\n")
    ioc = shared.ioc("outlets", DATABASE)
    tcp, loki = LineReceiver(), LokiReceiver(folder)
    (folder / "site.yml").write_text(f"""
        putlog:
          burst: 0
          sinks:
            - {{name: small, file: {folder}/small.jsonl, size: {FILE_SIZE}, count: 900}}
            - {{name: b, file: {folder}/b.jsonl, pv: 'O:b', burst: 1h}}
            - {{tcp: 'localhost:{tcp.port}'}}
            - {{loki: 'https://localhost:{loki.server_port}', ca_file: {loki.certificate}}}
        policy:
          rules:
            - {{name: machine, action: expect, pvs: ['O:a', 'O:b']}}
    """)
    exporter = shared.exporter("--collector.putlog", "--server-probe", f"--config.file={folder}/site.yml",
                               f"--set=putlog.user_salt={folder}/salt", "--set=putlog.hide_values=.*:secret", sees=[ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)
    return type("Place", (), {"folder": folder, "ioc": ioc, "exporter": exporter, "tcp": tcp, "loki": loki})


def puts_of(exporter, query="") -> list[dict]:
    status, headers, body = exporter.request(f"/api/v1/puts?{query}")
    assert (status, headers["content-type"]) == (200, "application/x-ndjson"), body
    return [json.loads(line) for line in body.splitlines()]


def ask(exporter, *options, **popen):
    return run_exporter("puts", f"--url=http://127.0.0.1:{exporter.port}", *options, **popen)


def send(place, connect, pvs, count):
    """Sends, and waits until all are in memory."""
    before = puts_of(place.exporter)
    sent = connect(clients.libca, [place.ioc], pvs, count).send()
    wait_until(lambda: len(puts_of(place.exporter)) == len(before) + sent, "all puts are in memory", 60)
    return puts_of(place.exporter)[len(before):]


def read_status(pid) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


def status_of_delivery(exporter) -> dict[str, str]:
    """Of the process that delivers, whose parent, which keeps it, is the exporter's child."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = dict(line.split(":\t", 1) for line in read_status(pid).splitlines() if ":\t" in line)
        if status.get("Name") in ("ioc_exp-keep", "ioc_exp-deliver"):
            found[status["Pid"]] = status
    (delivery,) = [one for one in found.values() if one["Name"] == "ioc_exp-deliver" and
                   found.get(one["PPid"], {}).get("PPid") == str(exporter.pid)]
    return delivery


def test_everybody_is_told_the_same(place, connect):
    puts = send(place, connect, ["O:a", "O:b", "O:secret"], 23)
    assert [put["seq"] for put in puts] == list(range(puts[0]["seq"], puts[0]["seq"] + 69))
    last = puts[-1]["seq"]
    wait_until(lambda: len(place.loki.entries()) == last, "Loki has all")
    # Unexpected puts may stand in front of others.
    assert sorted(json.loads(line)["seq"] for _, line, _ in place.loki.entries()) == list(range(1, last + 1))
    assert all(metadata["pv"] == json.loads(line)["pv"] for _, line, metadata in place.loki.entries())
    assert {path for path, _ in place.loki.pushes} == {"/loki/api/v1/push"}
    wait_until(lambda: len(place.tcp.lines) == last, "the receiver has all")
    lines = [json.loads(line) for line in place.tcp.lines[-69:]]
    assert all(list(told)[:5] == ["date", "time", "host", "user", "pv"] for told in lines)
    by_pv = lambda all_of_it: sorted(all_of_it, key=lambda one: one[0])  # of one PV as they came
    assert by_pv((told["pv"], told["new"]) for told in lines) == by_pv((put["pv"], put["value"]) for put in puts)
    # Of one client and one PV: the first at once, the others when the burst time ends, or the exporter does.
    told = [json.loads(line) for line in (place.folder / "b.jsonl").read_text().splitlines()]
    assert {put["pv"] for put in told} == {"O:b"} and not any("burst" in put for put in told)


def test_people_and_values_are_private(place, connect):
    puts = send(place, connect, ["O:a", "O:secret"], 5)
    for put in puts:
        assert re.fullmatch("sha256:[0-9a-f]{16}", put["user"])
        secret = put["pv"] == "O:secret"
        assert (put["value"] == put["old"] == "***") is secret
        assert (put["rule"], put["action"]) == (("default", "unexpected") if secret else ("machine", "expected"))


def test_a_file_rotates_and_its_writer_has_no_rights(place, connect):
    before = len(puts_of(place.exporter))
    send(place, connect, ["O:a"], 200)
    files = lambda: sorted(place.folder.glob("small.jsonl*"))
    lines = lambda: [json.loads(line)["seq"] for path in files() for line in path.read_text().splitlines()]
    wait_until(lambda: len(lines()) == before + 200, "the files have all")
    assert sorted(lines()) == list(range(1, before + 201))
    assert len(files()) > 5
    for path in files():
        assert path.stat().st_size <= FILE_SIZE
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    # Who may read the files may ask for puts in them.
    since = ["puts", "--since=1h", "--file=small.jsonl"]
    as_user = {"binary": env.for_any_user(env.exporter_binary()), "user": env.NOBODY, "group": env.NOBODY, "cwd": place.folder}
    done = run_exporter(*since, **as_user, extra_groups=[files()[0].stat().st_gid])
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(line)["seq"] for line in done.stdout.splitlines()) == list(range(1, before + 201))
    done = run_exporter(*since, **as_user, extra_groups=[])
    assert (done.returncode, done.stdout) == (1, "") and "small.jsonl: Permission denied" in done.stderr
    status = status_of_delivery(place.exporter)
    assert {status[caps] for caps in ("CapEff", "CapPrm", "CapBnd")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


@contextlib.contextmanager
def following(*argv, **popen):
    with subprocess.Popen(argv, **popen) as command:
        try:
            yield command
        finally:
            command.kill()


def test_the_command_follows(place, connect):
    exporter = place.exporter
    argv = [env.for_any_user(env.exporter_binary()), "puts", f"--url=http://127.0.0.1:{exporter.port}"]
    ours, its = pty.openpty()
    with following(*argv, "--pv=O:b", stdout=subprocess.PIPE, text=True, user=env.NOBODY) as in_a_pipe, \
            following(*argv, "--unexpected", stdout=its, env={"TERM": "xterm"}):
        os.close(its)
        outputs = [in_a_pipe.stdout, ours]
        wait_until(lambda: send(place, connect, ["O:b", "O:secret"], 1) and
                   len(select.select(outputs, [], [], 0)[0]) == len(outputs), "both follow", 60)
        sent = send(place, connect, ["O:a", "O:b", "O:secret"], 23)
        client = sent[0]["client"]  # of these puts only
        lines = []
        while sum(line["client"] == client for line in lines) < 23:
            lines.append(json.loads(in_a_pipe.stdout.readline()))
        shown = b""
        while (shown.count(client.encode()) < 23 or not shown.endswith(b"\n")) and select.select([ours], [], [], 30)[0]:
            shown += os.read(ours, 4096)
    os.close(ours)
    assert lines[-23:] == [put for put in sent if put["pv"] == "O:b"]
    head, *rows = shown.decode().splitlines()  # for people, on a terminal
    rows = [row for row in rows if client in row]
    assert head.split() == ["TIME", "IOC", "PV", "OLD", "NEW", "CLIENT", "USER", "RESULT", "POLICY"]
    assert len(rows) == 23
    for row in rows:
        assert row.startswith("\x1b[31m") and "outlets" in row and "***" in row and "unexpected: default" in row


@pytest.fixture
def small_disk(log_dir):
    folder = log_dir / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_each_put_is_accounted_for_over_an_outage(start_ioc, start_exporter, connect, small_disk):
    """The disk is full and the receiver is away, for longer than their queues are. Then both are well again."""
    ioc = start_ioc("outage", 'record(ao,"OUT:a"){}')
    port, file = free_port(), small_disk / "puts.jsonl"
    exporter = start_exporter("--collector.putlog", "--server-probe", "--putlog.burst=0", f"--putlog.file={file}",
                              f"--set=putlog.tcp=127.0.0.1:{port}", sees=[ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)
    sent = connect(clients.libca, [ioc], ["OUT:a"], 23_003, batch=100).send()

    def all_came(page):
        lost = page.count("ioc_exporter_dropped_total", probe="putlog", reason="full")
        return page.sink("memory")["events"] + lost == sent

    def accounts(page):
        found = [page.sink(sink) for sink in ("file", "tcp")]
        assert all(account["events"] == page.sink("memory")["events"] for account in found)
        return found

    lines = lambda: [json.loads(line)["seq"] for line in file.read_text().splitlines()]
    exporter.wait_scrape(all_came, "all puts came, or were lost in the kernel")
    # The process that delivers may still take some, and drop them.
    on_disk, by_tcp = wait_stable(lambda: accounts(exporter.scrape()), "what waits and what is dropped")
    for account in (on_disk, by_tcp):
        assert min(account[part] for part in ("failures", "waiting", "dropped")) > 0, account
    assert on_disk["delivered"] == len(lines()) and by_tcp["delivered"] == 0
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    receiver = LineReceiver(port=port)
    page = exporter.wait_scrape(lambda page: all(account["waiting"] == 0 for account in accounts(page)), "none waits")
    for before, after in zip((on_disk, by_tcp), accounts(page)):
        assert after["dropped"] == before["dropped"]
        assert after["delivered"] == before["delivered"] + before["waiting"]
    on_disk, by_tcp = accounts(page)
    assert len(set(lines())) == len(lines()) == on_disk["delivered"]
    wait_until(lambda: len(receiver.lines) == by_tcp["delivered"], "the receiver has what was delivered")


def test_a_disk_that_hangs_costs_its_own_sink_only(start_ioc, start_exporter, connect, disk_to_freeze):
    ioc = start_ioc("frozen", 'record(ao,"FR:a"){}')
    tcp = LineReceiver()
    options = ["--collector.putlog", "--server-probe", "--putlog.burst=0", f"--putlog.file={disk_to_freeze}/puts.jsonl",
               f"--set=putlog.tcp=127.0.0.1:{tcp.port}", "--set=putlog.events=10"]
    exporter = start_exporter(*options, sees=[ioc])
    exporter.wait_put_source(ioc, "server", timeout=60)
    connect(clients.libca, [ioc], ["FR:a"], 50).send()
    exporter.wait_scrape(lambda page: all(page.sink(sink)["delivered"] == 50 for sink in ("file", "tcp")), "both have all")
    subprocess.run(["fsfreeze", "--freeze", disk_to_freeze], check=True)
    connect(clients.libca, [ioc], ["FR:a"], 50).send()
    page = exporter.wait_scrape(lambda page: page.sink("tcp")["delivered"] == 100, "the receiver has all")
    assert page.sink("file")["waiting"] == 50
    wait_until(lambda: "put log: sinks that stand still: file (50 wait)" in exporter.request("/")[2].decode(),
               "the page says so")
    # Probes come off first, whatever the disk does.
    begun = time.monotonic()
    exporter.process.popen.terminate()
    exporter.process.wait_for("all probes are detached", "stderr", timeout=2)
    assert exporter.process.wait_exit(10) == 0
    assert time.monotonic() - begun < 6, "not within 6 s: the end"
    subprocess.run(["fsfreeze", "--unfreeze", disk_to_freeze], check=True)
    again = start_exporter(*options, sees=[ioc])
    again.wait_put_source(ioc, "server", timeout=60)
    connect(clients.libca, [ioc], ["FR:a"], 7).send()
    again.wait_scrape(lambda page: page.sink("file")["delivered"] == 7, "it works again")
    for line in (disk_to_freeze / "puts.jsonl").read_text().splitlines():
        json.loads(line)


def test_name_servers_that_do_not_answer(start_ioc, start_exporter, connect, log_dir):
    """Three of them, for each receiver: they hold up neither the start, the counts and other sinks, nor the end."""
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.settimeout(60)
    try:
        silent.bind(("", 53))
    except PermissionError:
        pytest.skip("port 53 cannot be taken here")
    (log_dir / "resolv.conf").write_text("".join(f"nameserver 127.0.0.{i}\n" for i in (1, 2, 3)))
    hosts = ["unshare", "--mount", "sh", "-c", f'mount --bind {log_dir}/resolv.conf /etc/resolv.conf && exec "$@"', "sh"]
    (log_dir / "site.yml").write_text("""
        putlog:
          burst: 0
          sinks:
            - {tcp: 'log.example.org:7011'}
            - {loki: 'http://loki.example.org:3100'}
    """)
    ioc = start_ioc("nameless", 'record(ao,"NS:a"){}')
    begun = time.monotonic()
    exporter = start_exporter("--collector.putlog", "--server-probe", f"--config.file={log_dir}/site.yml",
                              f"--putlog.file={log_dir}/puts.jsonl", sees=[ioc], prefix=hosts)
    exporter.wait_put_source(ioc, "server")
    sent = connect(clients.libca, [ioc], ["NS:a"], 50).send()
    page = exporter.wait_scrape(lambda page: page.sink("file")["delivered"] == sent, "the file has all")
    assert silent.recv(512), "a name was asked for"
    assert time.monotonic() - begun < 25, "not within 25 s, where one name alone takes 30: all is there"
    for sink in ("tcp", "loki"):
        assert page.sink(sink)["waiting"] == sent
    begun = time.monotonic()
    assert exporter.stop() == 0
    assert time.monotonic() - begun < 5, "not within 5 s: the end"
    silent.close()


def test_without_it_the_command_says_so(start_exporter):
    exporter = start_exporter()
    for options in ((), ("--since=1m",)):
        done = ask(exporter, *options)
        assert done.returncode == 1 and "--collector.putlog" in done.stderr, done
