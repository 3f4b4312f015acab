"""A real Zipkin server, with its spans in memory."""
import json
import pathlib
import shutil
import urllib.error
import urllib.request

import pytest

from . import env
from .ports import free_port
from .process import Process
from .waiting import wait_until

# It lives for a minute: no time for the second compiler, nor for threads that collect garbage.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m"]


class Zipkin:
    def __init__(self, log_dir: pathlib.Path):
        jar = env.test_env() / "java" / "zipkin.jar"
        java = shutil.which("java")
        if java is None or not jar.exists():
            pytest.skip("needs Java and Zipkin: install a JDK (17 or later) and Maven")
        self.port = free_port()
        self.process = Process("zipkin", [java, *JAVA_OPTIONS, "-jar", jar, "--spring.main.lazy-initialization=true"],
                               log_dir, {"QUERY_PORT": str(self.port)})
        wait_until(self._is_ready, "Zipkin is ready", 60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.process.kill()

    def _is_ready(self) -> bool:
        assert self.process.popen.poll() is None, self.process.describe()
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=60):
                return True
        except OSError:
            return False

    def trace(self, trace_id: str) -> list[dict]:
        """Its spans, as the API has them; none where it knows no such trace."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v2/trace/{trace_id}", timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            assert error.code == 404, error.read()
            return []

    def metric(self, name: str) -> float:
        """Of its /metrics, for example zipkin_collector.spans."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            return json.load(answer).get(name, 0)
