"""Questions to all exporters of a site, of which one hangs and one is not there; and the state of an IOC for Nagios."""
import http.server
import json
import os
import re
import signal
import socket
import threading
import time

import pytest

from harness.exporter import run_exporter
from harness.ports import free_port
from harness.prometheus import Prometheus
from harness.raw_client import ECA_NORMAL, RawClient
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--collector.putlog", "--server-probe"]
RECORDS = """
record(ao, "C:set") {}
record(ao, "C:other") {}
record(calcout, "C:never") { field(CALC, "A") field(ODLY, "10000") }
"""
POLICY = "policy: {rules: [{name: all, action: allow, users: 'ada|eve'}, {name: guests, action: forbid, users: guest}]}\n"


class Site:
    """Two hosts with an IOC and an exporter each, a third whose exporter hangs, and a fourth without one."""

    def __init__(self, shared, folder):
        (folder / "site.yml").write_text(POLICY)
        self.iocs = [shared.ioc(f"central{n}", RECORDS) for n in (1, 2)]
        self.exporters = [shared.exporter(f"--ioc.include={ioc.name}", f"--config.file={folder}/site.yml", sees=[ioc])
                          for ioc in self.iocs]
        for exporter, ioc in zip(self.exporters, self.iocs):
            exporter.wait_put_source(ioc, "server")
        self.hangs = shared.exporter("--ioc.include=none")
        self.names = [f"127.0.0.1:{exporter.port}" for exporter in (*self.exporters, self.hangs)]
        self.refuses = f"127.0.0.1:{free_port()}"
        self.file = folder / "targets.json"
        self.file.write_text(json.dumps([{"targets": [*self.names, self.names[0]], "labels": {"area": "ring"}},
                                         {"targets": [self.refuses]}]))
        (folder / "well.yml").write_text("".join(f"- targets: ['{name}']\n" for name in self.names[:2]))
        self.well = folder / "well.yml"
        os.kill(self.hangs.pid, signal.SIGSTOP)

    def ask(self, *words, of=None, **options):
        # Only where one hangs does the answer take as long as that.
        return run_exporter(*words, f"--targets={of or self.file}", "--timeout=60s" if of else "--timeout=5s", **options)

    def unanswered(self, command):
        hanging, refusing = self.names[2].split(":")[1], self.refuses.split(":")[1]
        return [f"ioc_exporter {command}: {self.names[2]} did not answer: read the answer of 127.0.0.1 port {hanging}: "
                "Connection timed out",
                f"ioc_exporter {command}: {self.refuses} did not answer: connect to 127.0.0.1 port {refusing}: "
                "Connection refused"]


@pytest.fixture(scope="module")
def site(shared, tmp_path_factory):
    made = Site(shared, tmp_path_factory.mktemp("site"))
    yield made
    os.kill(made.hangs.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def puts(site):
    """(number of the exporter, user, PV, value), in the order of time."""
    sent = [(0, "ada", "C:set", 1), (1, "eve", "C:set", 2), (0, "eve", "C:set.DRVH", 3), (1, "ada", "C:other", 4),
            (1, "eve", "C:set", 5), (0, "ada", "C:set", 6)]
    for n, user, pv, value in sent:
        client = RawClient(site.iocs[n].port, user, f"{user}-desk")
        assert client.write_notify(client.create(pv), value) == ECA_NORMAL
        client.kill()
        time.sleep(0.05)  # each exporter reads the clock itself
    return sent


def columns(text):
    """Without the first column, times, of which the second is told by a unit."""
    head, *lines = (re.split(r" {2,}", line) for line in text.splitlines())
    return head[2:], [line[2:] for line in lines]


def test_who_wrote_of_a_site(site, puts):
    address = "127.0.0.1"
    wanted = [[site.names[n], f"central{n + 1}", pv, address, user, f"{user}-desk", "write_notify", count]
              for n, user, pv, count in ((0, "ada", "C:set", "2"), (1, "eve", "C:set", "2"), (0, "eve", "C:set.DRVH", "1"))]

    def listed():
        done = site.ask("who-wrote", "C:set")
        return len(columns(done.stdout)[1]) == 3 and done

    done = wait_until(listed, "all puts are counted", 30)
    head, lines = columns(done.stdout)
    assert head == ["EXPORTER", "IOC", "PV", "CLIENT", "USER", "HOST", "OPERATION", "PUTS"]
    assert lines == wanted
    assert (done.returncode, done.stderr.splitlines()) == (4, site.unanswered("who-wrote"))
    answer = json.loads(site.ask("who-wrote", "--json", "C:set").stdout)
    assert [(put["exporter"], put["pv"], put["user"], put["count"]) for put in answer["puts"]] == [
        (name, pv, user, int(count)) for name, _, pv, _, user, _, _, count in wanted]
    assert [one["exporter"] for one in answer["unanswered"]] == [site.names[2], site.refuses]
    whole = site.ask("who-wrote", "C:set", of=site.well)
    assert (whole.returncode, whole.stderr, columns(whole.stdout)[1]) == (0, "", wanted)
    nobody = site.ask("who-wrote", "C:never", of=site.well)
    assert nobody.returncode == 3
    assert nobody.stdout.startswith("Nobody wrote to C:never since counting began, ")


def test_puts_of_a_site_in_the_order_of_time(site, puts):
    wanted = [(site.names[n], f"central{n + 1}", user, pv, value) for n, user, pv, value in puts if "." not in pv]

    def listed():
        done = site.ask("puts", "--since=10m", "--pv=C:(set|other)")
        return len(done.stdout.splitlines()) == len(wanted) + 2 and done

    done = wait_until(listed, "all puts are in memory", 30)
    *lines, hangs, refuses = map(json.loads, done.stdout.splitlines())
    assert [(put["exporter"], put["ioc"], put["user"], put["pv"], put["value"]) for put in lines] == wanted
    assert [put["time"] for put in lines] == sorted(put["time"] for put in lines)
    assert [(one["exporter"], set(one)) for one in (hangs, refuses)] == [
        (site.names[2], {"exporter", "error"}), (site.refuses, {"exporter", "error"})]
    said = [line for line in done.stderr.splitlines() if " knows puts since " not in line]
    assert (done.returncode, said) == (4, site.unanswered("puts"))
    assert len(done.stderr.splitlines()) == len(said) + 2, "both run for less than ten minutes"
    whole = site.ask("puts", "--since=10m", "--pv=C:(set|other)", of=site.well)
    assert (whole.returncode, whole.stdout.splitlines()) == (0, done.stdout.splitlines()[:-2])
    assert site.ask("puts", "--since=10m", "--user=none", of=site.well).returncode == 3
    assert site.ask("puts").returncode == 2


def test_the_exporters_of_a_prometheus(site, puts, started, log_dir):
    server = started.add(Prometheus(log_dir, {"ioc_exporter": f"{site.names[0]}/metrics", "other": f"{site.names[1]}/metrics"},
                                    settings={"ioc_exporter": {"static_configs": [
                                        {"targets": [site.names[0]], "labels": {"instance": "ring"}},
                                        {"targets": [site.refuses]}]}}))
    wait_until(lambda: len((server.api("targets") or {}).get("activeTargets", [])) == 3, "Prometheus has its targets", 30)
    done = run_exporter("who-wrote", f"--prometheus=http://127.0.0.1:{server.port}/", "C:set")
    assert [line[:4] for line in columns(done.stdout)[1]] == [["ring", "central1", "C:set", "127.0.0.1"],
                                                              ["ring", "central1", "C:set.DRVH", "127.0.0.1"]]
    assert (done.returncode, done.stderr.splitlines()) == (4, site.unanswered("who-wrote")[1:])
    done = run_exporter("who-wrote", f"--prometheus=http://127.0.0.1:{server.port}", "--job=none", "C:set")
    assert (done.returncode, done.stdout) == (1, "")
    assert 'the job "none" has no exporter' in done.stderr


def test_the_login_stays_here(site):
    """A Prometheus names a host that asks for a login: by http it gets none, in a file of targets it does."""
    asked = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path.split("?")[0], self.headers["Authorization"]))
            body = json.dumps({"data": {"activeTargets": [{"labels": {"job": "ioc_exporter"}, "scrapeUrl": f"http://{name}/metrics"}]}})
            is_list = self.path.startswith("/api/v1/targets?")
            self.send_response(200 if is_list else 401)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode() if is_list else b"who are you?")

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("", 0), Answers)
    name = f"127.0.0.2:{server.server_port}"  # not the name of this host
    threading.Thread(target=server.serve_forever).start()
    try:
        environment = {**os.environ, "IOC_EXPORTER_LOGIN": "operator:secret"}
        told = run_exporter("who-wrote", f"--prometheus=http://127.0.0.1:{server.server_port}", "C:set", env=environment)
        site.file.with_name("other.yml").write_text(f"- targets: ['{name}']\n")
        site.ask("who-wrote", "C:set", of=site.file.with_name("other.yml"), env=environment)
    finally:
        server.shutdown()
        server.server_close()
    login = "Basic b3BlcmF0b3I6c2VjcmV0"
    assert [one[1] for one in asked] == [login, None, login], asked
    assert told.returncode == 1
    assert f"http://{name} did not answer: it asks for a login, which is not sent by http" in told.stderr


def test_answers_of_others(site, log_dir):
    """One sends without an end, one garbage with control characters."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    names = [f"127.0.0.1:{one.getsockname()[1]}" for one in listeners]
    (log_dir / "odd.json").write_text(json.dumps([{"targets": [*names, site.names[0]]}]))

    def serve(listener, text, endless):
        with listener, listener.accept()[0] as connection:
            connection.recv(4096)
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + text)
                while endless:
                    connection.sendall(b" " * 65536)
            except OSError:  # the client leaves
                pass

    threads = [threading.Thread(target=serve, args=one) for one in zip(listeners, (b"", b"\x1b[2J\x9b{\r\n"), (True, False))]
    for thread in threads:
        thread.start()
    done = run_exporter("puts", "--since=1s", f"--targets={log_dir}/odd.json", "--timeout=60s")
    for thread in threads:
        thread.join(30)
    assert done.returncode == 4
    assert [name for line in done.stdout.splitlines() if "error" in (told := json.loads(line)) for name in (told["exporter"],)] == names
    assert done.stderr.splitlines() == [
        f"ioc_exporter puts: {names[0]} did not answer: read the answer of {names[0].replace(':', ' port ')}: "
        "it is longer than 16MiB",
        f"ioc_exporter puts: {names[1]} did not answer: a line is no JSON"]


def test_check_for_nagios(site, puts, raw_client):
    ioc, exporter = site.iocs[1], site.exporters[1]
    url = f"--url=http://127.0.0.1:{exporter.port}"

    def check(*options):
        done = run_exporter("check", f"--ioc={ioc.name}", url, *options)
        assert (done.stderr, done.stdout.count("\n"), done.stdout.count("|")) == ("", 1, 1), done
        said, _, data = done.stdout.partition(" | ")
        return done.returncode, said, data.split()

    quiet = ["up=1;;1:;0;1", "forbidden=0c", "unexpected=0c", "pending=0;;;0", "pending_oldest=0s;900;3600;0"]
    status, said, data = check()
    assert (status, said) == (0, f"IOC OK - {ioc.name}: runs")
    assert [one for one in data if not one.startswith("lock")] == [one for one in quiet if not one.endswith("0c")]
    client = raw_client(ioc, "guest")
    waits = client.create("C:never.A")
    client.start_write_notify(waits, 1)
    exporter.wait_scrape(lambda page: page.count("epics_ioc_put_callbacks_pending", ioc=ioc.name) == 1, "it waits")
    status, said, data = check("--pending=0s,1h", "--unexpected-within=0s")
    assert (status, said.startswith(f"IOC WARNING - {ioc.name}: a put with callback has waited for ")) == (1, True), said
    assert "forbidden=1c" in data and "pending=1;;;0" in data
    status, said, _ = check("--pending=0s,0s")
    assert status == 2 and re.fullmatch(rf"IOC CRITICAL - {ioc.name}: forbidden put \S+ s ago, "
                                        r"a put with callback has waited for \S+ s", said), said
    done = run_exporter("check", "--ioc=none", url)
    assert (done.returncode, done.stdout) == (3, "IOC UNKNOWN - none: the exporter knows no IOC of that name\n")
    done = run_exporter("check", "--ioc=x", f"--url=http://{site.names[2]}")
    assert done.returncode == 3 and done.stdout.startswith(f"IOC UNKNOWN - ask the exporter at http://{site.names[2]}: "), done
    ioc.kill()
    exporter.wait_scrape(lambda page: page.value("epics_ioc_up", ioc=ioc.name) == 0, "the IOC has ended")
    assert check() == (2, f"IOC CRITICAL - {ioc.name}: has ended", ["up=0;;1:;0;1"])
