"""TLS as the one file of a release speaks it: whom it lets in, with what, and that certificates can be exchanged."""
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from harness import env
from harness.exporter import run_exporter
from harness.waiting import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")  # that they are refused is the point
EXPORTER_OPTIONS = ["--no-collector.records"]
REFUSED = rb'ioc_exporter_http_refused_total\{reason="tls_handshake"\} (\d+)'
MAKE = r"""
new="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
names="-addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"
for ca in ca stranger; do openssl req -x509 $new -keyout $ca.key -out $ca.pem -subj /CN=$ca -days 2; done
for one in first second client old; do openssl req $new -keyout $one.key -out $one.csr -subj /CN=$one $names; done
sign() { openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days ${4:-2} -copy_extensions copy -out $3.pem; }
sign first ca first; sign second ca second 3; sign client ca client; sign client stranger imposter; cp client.key imposter.key
: >index; echo 01 >serial
printf '[ca]\ndefault_ca=x\n[x]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' >ca.conf
openssl ca -batch -config ca.conf -in old.csr -out old.pem -cert ca.pem -keyfile ca.key -notext \
  -startdate 20200101000000Z -enddate 20200102000000Z
cp first.pem server.pem; cp first.key server.key
"""
PASSWORD, PASSWORD_HASH = "secret", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
ANYBODY = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
OURS = "text/plain; charset=utf-8; by=ioc_exporter"
KNOWN = ("tls_server_config: {cert_file: server.pem, key_file: server.key, client_ca_file: ca.pem,"
         " client_auth_type: RequireAndVerifyClientCert}\n")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("needs openssl (package openssl)")
    folder = tmp_path_factory.mktemp("pki")
    subprocess.run(["sh", "-ec", MAKE], cwd=folder, check=True, capture_output=True)
    (folder / "web.yml").write_text(ANYBODY)
    return folder


@pytest.fixture(scope="module")
def pki(certificates):
    """For a server with TLS; the commands always have it."""
    if "TLS by" not in run_exporter("--version").stdout:
        pytest.skip(f"{env.exporter_binary()} has no TLS")
    return certificates


class Served:
    """An exporter on both loopback addresses."""

    def __init__(self, shared, pki):
        self.pki = pki
        self.exporter = shared.exporter(f"--web.config.file={pki / 'web.yml'}", "--web.listen-address=[::1]:0")
        self.port6 = int(self.exporter.process.wait_for(r"listening on \[::1\]:(\d+)", "stderr")[1])

    def context(self, authority="ca", client=None, newest=None):
        context = ssl.create_default_context(cafile=self.pki / f"{authority}.pem")
        if client:
            context.load_cert_chain(self.pki / f"{client}.pem", self.pki / f"{client}.key")
        if newest:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = newest
        return context

    def get(self, path="/metrics", host="127.0.0.1", **context):
        port = self.port6 if host == "::1" else self.exporter.port
        connection = http.client.HTTPSConnection(host, port, timeout=60, context=self.context(**context))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            name = dict(pair[0] for pair in connection.sock.getpeercert()["subject"]) if connection.sock else {}
            return answer.status, name.get("commonName"), answer.read()
        finally:
            connection.close()

    def refused(self, **context) -> int:
        found = re.search(REFUSED, self.get(**context)[2])
        return int(found[1]) if found else 0

    def expires(self) -> float:
        return float(re.search(rb"^ioc_exporter_tls_certificate_expiry_timestamp_seconds (\S+)$", self.get()[2], re.M)[1])

    def is_turned_away(self, **context) -> bool:
        """With TLS 1.3 a client learns that it is only when it waits for the answer."""
        try:
            self.get(**context)
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            return True
        return False

    def ask(self, command, *options, **environment):
        """One of the commands that ask the exporter; each of them says by its status whether there was an answer."""
        return run_exporter(*command, f"--url=https://127.0.0.1:{self.exporter.port}", *options,
                            env={"PATH": "/usr/bin:/bin", **environment})


@pytest.fixture(scope="module")
def served(shared, pki):
    return Served(shared, pki)


def test_clients_that_tls_accepts(served):
    for host in ("127.0.0.1", "::1", "localhost"):
        status, _, body = served.get(host=host)
        assert (status, b"ioc_exporter_build_info" in body) == (200, True)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert served.get(newest=version)[0] == 200
    before = served.refused()
    with pytest.raises(ssl.SSLCertVerificationError):
        served.get(authority="stranger")
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(ssl.SSLError):
            served.get(newest=version)
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        served.exporter.request("/metrics")  # no TLS at all
    wait_until(lambda: served.refused() == before + 4, "all four are counted")
    for why in ("unknown ca", "unsupported protocol", "http request"):
        served.exporter.process.wait_for(rf"refused a TLS handshake \([^)]*{why}[^)]*\) from 127.0.0.1: tls_handshake",
                                         "stderr")


def expiry_of(path) -> float:
    said = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-in", path], check=True, capture_output=True, text=True)
    return ssl.cert_time_to_seconds(said.stdout.strip().removeprefix("notAfter="))


def test_unfinished_handshakes(served):
    """As many as there are threads, and more: each has the beginning of a greeting, and says no more."""
    greeting = bytes.fromhex("1603010200010001fc0303")
    slow = []
    for _ in range(200):
        slow.append(socket.create_connection(("127.0.0.1", served.exporter.port)))
        slow[-1].sendall(greeting)
    for _ in range(20):
        assert served.get()[0] == 200
    for connection in slow:  # it ends at all
        connection.settimeout(60)
        try:
            while connection.recv(4096):
                pass
        except ConnectionError:
            pass
        connection.close()


def test_certificates_are_exchanged(served):
    """One file after the other, as a tool that renews them does; what does not work is not taken."""
    pki, said = served.pki, served.exporter.process

    def name() -> str:
        # The connection has to be open to be asked.
        with socket.create_connection(("127.0.0.1", served.exporter.port)) as plain:
            with served.context().wrap_socket(plain, server_hostname="localhost") as connection:
                return dict(pair[0] for pair in connection.getpeercert()["subject"])["commonName"]

    assert name() == "first"
    assert served.expires() == expiry_of(pki / "first.pem")
    (pki / "server.pem").write_bytes((pki / "second.pem").read_bytes()[:200])
    wait_until(lambda: name() and "no certificate in the PEM format" in said.stderr(), "the half is refused")
    assert name() == "first"
    shutil.copy(pki / "second.pem", pki / "server.pem")
    wait_until(lambda: name() and "is not the key of the certificate" in said.stderr(), "the pair is refused")
    assert name() == "first"
    assert b"ioc_exporter_config_last_reload_successful 0" in served.get()[2]
    shutil.copy(pki / "second.key", pki / "server.key")
    wait_until(lambda: name() == "second", "the new pair is used")
    assert served.expires() == expiry_of(pki / "second.pem") != expiry_of(pki / "first.pem")
    assert b"ioc_exporter_config_last_reload_successful 1" in served.get()[2]
    # Neither does a file that is being written turn TLS off.
    (pki / "web.yml").write_text("")
    wait_until(lambda: name() and "tls_server_config has gone" in said.stderr(), "it is refused")
    (pki / "web.yml").write_text(ANYBODY)


def test_clients_with_certificates(served):
    (served.pki / "web.yml").write_text(KNOWN)
    wait_until(served.is_turned_away, "a client without a certificate is turned away")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert served.get(client="client", newest=version)[0] == 200
        for nobody in (None, "imposter", "old"):
            assert served.is_turned_away(client=nobody, newest=version), nobody
    before = served.refused(client="client")
    assert served.is_turned_away(client="old")
    wait_until(lambda: served.refused(client="client") == before + 1, "it is counted")


def was_answered(result) -> bool:
    return "ask the exporter" not in result.stderr or "status 404" in result.stderr


def test_commands_ask_by_tls(served):
    """Whom they believe, as whom they come, and with what password, which no argument has."""
    pki = served.pki
    (pki / "web.yml").write_text(f"{KNOWN}basic_auth_users: {{reader: {PASSWORD_HASH}}}\n")
    (pki / "login").write_text(f"reader:{PASSWORD}\n")
    ca, own = f"--ca-file={pki}/ca.pem", (f"--cert-file={pki}/client.pem", f"--key-file={pki}/client.key")
    who = ("who-wrote", "X:nobody")
    wait_until(lambda: "status 401" in served.ask(who, ca, *own).stderr, "it asks for a password")
    for command in (who, ("iocs", "learn"), ("policy", "learn")):
        result = served.ask(command, ca, *own, f"--login-file={pki}/login")
        assert was_answered(result), result.stderr
    assert served.ask(who, ca, *own, IOC_EXPORTER_LOGIN=f"reader:{PASSWORD}").returncode == 3
    refused = "alert|shake hands"  # the latter when the server has closed the connection before libcurl looks at it
    for options, why in (((*own,), "believe the certificate of 127.0.0.1: "),
                         ((f"--ca-file={pki}/stranger.pem", *own), "believe the certificate of 127.0.0.1: "),
                         ((f"--ca-file={pki}/none.pem", *own), "none.pem"),
                         ((ca, f"--cert-file={pki}/old.pem", f"--key-file={pki}/old.key"), refused),
                         ((ca,), refused), ((ca, own[0]), "a certificate needs its key"),
                         ((ca, own[0], f"--key-file={pki}/old.key"), "old.key")):
        result = served.ask(who, *options, f"--login-file={pki}/login")
        assert (result.returncode, was_answered(result)) == (1, False), result.stderr
        assert any(word in result.stderr for word in why.split("|")), result.stderr
    assert "USER:PASSWORD" in served.ask(who, ca, *own, IOC_EXPORTER_LOGIN="reader").stderr
    (pki / "web.yml").write_text(ANYBODY)


def answer_once(pki, certificate, farewell, kind):
    """A server of one request; `farewell`: whether it says that its answer is whole. Returns (port, thread)."""
    listener = socket.create_server(("127.0.0.1", 0))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / f"{certificate}.pem", pki / f"{certificate}.key")

    def serve():
        with listener, listener.accept()[0] as plain:
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    connection.recv(4096)
                    connection.sendall(f"HTTP/1.0 404 Not Found\r\nContent-Type: {kind}\r\n\r\n404 no IOC runs\n".encode())
                    if farewell:
                        connection.unwrap()
            except OSError:  # the client leaves
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    return listener.getsockname()[1], thread


@pytest.mark.parametrize("certificate, farewell, kind, status, said", [
    ("first", True, OURS, 3, "no IOC runs"), ("first", True, "text/plain; charset=utf-8", 1, "no IOC runs"),
    ("ca", True, OURS, 1, "believe the certificate of 127.0.0.1: "),
    ("first", False, OURS, 1, "read the answer of 127.0.0.1")])
def test_commands_believe_the_name_and_the_whole_answer_only(certificates, certificate, farewell, kind, status, said):
    port, thread = answer_once(certificates, certificate, farewell, kind)
    result = run_exporter("iocs", "learn", f"--url=https://127.0.0.1:{port}", f"--ca-file={certificates}/ca.pem")
    thread.join(60)
    assert result.returncode == status and said in result.stderr, result.stderr
