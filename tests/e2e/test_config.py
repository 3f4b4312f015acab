"""The site's configuration file: what it bounds and groups, and that it can be exchanged while all goes on."""
import base64
import http.client
import re
import shutil
import signal
import ssl
import subprocess

import pytest

from harness import databases, env
from harness.ports import free_port
from harness.process import Process
from harness.scrape import PROCESSED, PUTS
from harness.waiting import wait_until

SUCCESS = "ioc_exporter_config_last_reload_successful"
SITE = """
records:
  groups:
    - match: 'W:(set|text)[0-9]'
limits:
  puts: {{series: {puts}}}
"""


@pytest.fixture
def ioc(start_ioc):
    return start_ioc("config", databases.put_targets("W:", 5))


def test_bounds_groups_and_reload(ioc, start_exporter, raw_client, tmp_path):
    site = tmp_path / "site.yml"
    site.write_text(SITE.format(puts=3))
    exporter = start_exporter(f"--config.file={site}", "--web.enable-lifecycle",
                              f"--ioc.include={ioc.name}", sees=[ioc])
    client = raw_client(ioc)
    channels = [client.create(f"W:set{i}") for i in range(1, 6)]
    sent = {channel.name: 0 for channel in channels}

    def write(counts):
        for channel, count in zip(channels, counts):
            for _ in range(count):
                client.write_notify(channel, 1.0)
            sent[channel.name] += count

    def shown():
        scrape = exporter.wait_scrape(
            lambda s: s.count(PROCESSED, ioc=ioc.name, record_group="set") == sum(sent.values()),
            "all processings are shown")
        puts = {labels["pv"]: value for labels, value in scrape.series(PUTS, ioc=ioc.name)}
        return scrape, puts

    write([7, 11, 13, 17, 19])
    scrape, puts = shown()
    assert puts == {"W:set1": 7, "W:set2": 11, "W:set3": 13, "(other)": 36}
    assert scrape.value("ioc_exporter_series_limited", family="puts") == 2
    assert scrape.series("ioc_exporter_series_limited", family="records") == []
    for name, count in sent.items():
        assert ioc.get(f"{name}:count.VAL") == count
        assert not scrape.series(PROCESSED, record=name)
        assert scrape.count(PROCESSED, ioc=ioc.name, record=f"{name}:count") == count
    assert scrape.count("epics_ioc_records", ioc=ioc.name, record_type="ao") == 5

    # A file that is wrong leaves the other one in force.
    site.write_text(SITE.format(puts="many"))
    exporter.process.popen.send_signal(signal.SIGHUP)
    exporter.process.wait_for(rf"{site}:6:18: limits.puts.series: ", "stderr")
    assert exporter.scrape().value(SUCCESS) == 0
    write([1, 0, 0, 1, 0])
    scrape, puts = shown()
    assert puts == {"W:set1": 8, "W:set2": 11, "W:set3": 13, "(other)": 37}

    # More room: who gets a series of his own shows all his counts, and the sum stays what it was.
    site.write_text(SITE.format(puts=5))
    assert exporter.request("/-/reload", "POST")[0] == 200
    exporter.scrape()
    write([0, 0, 0, 0, 1])
    scrape, puts = shown()
    assert scrape.value(SUCCESS) == 1
    assert puts == {"W:set1": 8, "W:set2": 11, "W:set3": 13, "W:set4": 18, "W:set5": 20, "(other)": 38}
    write([0, 0, 0, 1, 1])
    assert shown()[1] == {**puts, "W:set4": 19, "W:set5": 21}
    assert exporter.scrape().series("ioc_exporter_series_limited", family="puts") == []


@pytest.fixture
def passwords(tmp_path):
    # Of "secret", with a cost that takes a millisecond.
    web = tmp_path / "web.yml"
    web.write_text("basic_auth_users:\n"
                   "  scraper: $2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW\n"
                   "http_server_config:\n  headers:\n    X-Frame-Options: deny\n")
    return web


def login(password, user="scraper"):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def test_passwords(start_exporter, passwords):
    exporter = start_exporter("--no-collector.records", f"--web.config.file={passwords}",
                              "--web.enable-lifecycle")
    for path, method in [("/metrics", "GET"), ("/", "GET"), ("/-/healthy", "GET"), ("/-/reload", "POST"),
                         ("/no-such-page", "GET")]:
        for headers in ({}, login("wrong")):
            status, answer, body = exporter.request(path, method, headers)
            assert (status, answer["www-authenticate"].split()[0]) == (401, "Basic")
            assert b"epics" not in body
    for _ in range(3):
        status, answer, body = exporter.request("/metrics", headers=login("secret"))
        assert (status, answer["x-frame-options"]) == (200, "deny")
        assert b"ioc_exporter_build_info" in body
    passwords.write_text(passwords.read_text().replace("scraper", "other"))
    wait_until(lambda: exporter.request("/metrics", headers=login("secret", "other"))[0] == 200, "the new file counts")
    assert exporter.request("/metrics", headers=login("secret"))[0] == 401


def test_tls_by_a_proxy(start_exporter, started, passwords, tmp_path, log_dir):
    """TLS as docs/configuration.md describes it, with its own stunnel.conf."""
    stunnel, openssl = shutil.which("stunnel"), shutil.which("openssl")
    if not stunnel or not openssl:
        pytest.skip("needs stunnel and openssl (packages stunnel4, openssl)")
    exporter = start_exporter("--no-collector.records", f"--web.config.file={passwords}")
    pem = tmp_path / "server.pem"
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", pem, "-out",
                    tmp_path / "cert.pem"], check=True, capture_output=True)
    pem.write_text(pem.read_text() + (tmp_path / "cert.pem").read_text())
    pem.chmod(0o600)
    manual = (env.E2E_DIR.parent.parent / "docs" / "configuration.md").read_text()
    conf = re.search(r"```ini\n(.*?)```", manual, re.DOTALL)[1]
    port = free_port()
    for old, new in [("accept = 10065", f"accept = 127.0.0.1:{port}"),
                     ("connect = 127.0.0.1:10064", f"connect = 127.0.0.1:{exporter.port}"),
                     ("/etc/ioc_exporter/server.pem", str(pem))]:
        assert old in conf
        conf = conf.replace(old, new)
    (tmp_path / "stunnel.conf").write_text(conf)
    proxy = started.add(Process("stunnel", [stunnel, tmp_path / "stunnel.conf"], log_dir))
    proxy.wait_for("Configuration successful", "stderr")

    def get(headers):
        context = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        connection = http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
        try:
            connection.request("GET", "/metrics", headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    assert get({})[0] == 401
    status, body = get(login("secret"))
    assert (status, b"ioc_exporter_build_info" in body) == (200, True)
