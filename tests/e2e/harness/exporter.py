"""The real daemon on a port of its own choice."""
import http.client
import pathlib
import subprocess

from . import env
from .process import Process
from .scrape import Scrape
from .waiting import wait_until

FOUND_WITHIN = 120.0  # seconds; about one on a quiet machine


class Exporter:
    def __init__(self, log_dir: pathlib.Path, *options: str, prefix=()):
        self.process = Process("exporter", [*prefix, env.exporter_binary(),
                                            "--web.listen-address=127.0.0.1:0", *self._defaults(options),
                                            *options], log_dir)
        match = self.process.wait_for(r"listening on \S*?127\.0\.0\.1:(\d+)", "stderr", timeout=FOUND_WITHIN)
        self.port = int(match[1])

    @staticmethod
    def _defaults(options: tuple[str, ...]) -> list[str]:
        """A flood is counted whole, and all calls are timed, whatever that costs here. By the packets alone, unless a
        test is about the server's word: each probe more takes a tenth of a second to be taken off."""
        defaults = ["--overhead.budget=0", "--overhead.target=0", "--no-server-probe"]
        return [default for default in defaults
                if not any(option.startswith((default.split("=")[0], default.replace("--no-", "--"))) for option in options)]

    @property
    def pid(self) -> int:
        return self.process.pid

    def request(self, path: str, method: str = "GET", headers: dict[str, str] | None = None):
        """(status, headers with lower-case names, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def scrape(self) -> Scrape:
        status, _, body = self.request("/metrics")
        assert status == 200, f"GET /metrics: {status} {body[:500]!r}"
        return Scrape(body.decode())

    def wait_put_source(self, ioc, source: str, protocol: str = "ca", timeout: float = FOUND_WITHIN) -> Scrape:
        """The first scrape that says that puts to the IOC are counted there: "server", "packets"."""
        return self.wait_scrape(lambda page: page.put_source(ioc, protocol) == source,
                                f"puts to {ioc.name} are counted by: {source}", timeout)

    def wait_scrape(self, condition, what: str, timeout: float = FOUND_WITHIN) -> Scrape:
        """The first scrape for which `condition` holds."""
        last: list[Scrape] = []

        def once():
            last[:] = [self.scrape()]
            return condition(last[0])

        try:
            wait_until(once, what, timeout, every=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.process.describe()}\n--- last scrape:\n"
                                 f"{last[0].text[-6000:] if last else 'none'}") from None
        return last[0]

    def wait_first_look(self) -> None:
        """Until it has looked for IOCs and watches the network, which the first scrape waits for: what comes after it
        is counted from its beginning."""
        self.scrape()

    def wait_up(self, ioc, timeout: float = FOUND_WITHIN) -> Scrape:
        """Until this IOC, by pid and by its CA port, is found and its records are known."""
        def up(scrape: Scrape) -> bool:
            label = scrape.ioc_of_pid(ioc.pid)
            return (label is not None and scrape.value("epics_ioc_up", ioc=label) == 1
                    and bool(scrape.series("epics_ioc_info", ioc=label, ca_port=str(ioc.port)))
                    and bool(scrape.series("epics_ioc_records", ioc=label)))

        return self.wait_scrape(up, f"IOC {ioc.name} (pid {ioc.pid}, port {ioc.port}) is up",
                                timeout)

    def stop(self) -> int:
        return self.process.terminate()


def run_exporter(*options: str, timeout: float = 90.0, binary: pathlib.Path | None = None, prefix=(),
                 **popen) -> subprocess.CompletedProcess:
    """The exporter as a command that ends by itself, with its output as text."""
    return subprocess.run([*prefix, str(binary or env.exporter_binary()), *options], capture_output=True,
                          text=True, timeout=timeout, stdin=subprocess.DEVNULL, **popen)


def run_exporter_as_nobody(*options: str) -> subprocess.CompletedProcess:
    return run_exporter(*options, binary=env.for_any_user(env.exporter_binary()), user=env.NOBODY, group=env.NOBODY,
                        extra_groups=[], cwd="/")
