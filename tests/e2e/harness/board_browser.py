"""Dashboards in a browser, on Grafana's dashboard runtime, with a Prometheus of series that a test writes down."""
import json
import pathlib
import shutil
import subprocess
import time

from .ports import free_port
from .process import Process

PROJECT = pathlib.Path(__file__).resolve().parents[3]
DRAWING = PROJECT / ".cache/draw"  # made by scripts/make-drawing.sh
STEP, PAST, FUTURE = 30, 20 * 60, 10 * 60  # seconds from sample to sample, before now and behind it


def missing() -> str:
    """Why no browser can be started here: "" where one can."""
    if not shutil.which("prometheus"):
        return "there is no prometheus"
    if (DRAWING / "drive.mjs").exists() and not (DRAWING / "skipped").exists():
        return ""
    return (DRAWING / "skipped").read_text() if (DRAWING / "skipped").exists() else "scripts/make-drawing.sh .cache/draw was not run"


def samples(values: str, times: list[int]):
    """Of "7": always 7; of "0+3": 3 more at each sample; of "5@900": 5, up to 900 seconds before now."""
    first, _, until = values.partition("@")
    start, _, growth = first.partition("+")
    end = times[PAST // STEP] - int(until) if until else times[-1]
    return [(at, float(start) + number * float(growth or 0)) for number, at in enumerate(times) if at <= end]


def write(folder: pathlib.Path, series: dict[str, str]) -> None:
    """As blocks of a Prometheus."""
    now = int(time.time())
    times = list(range(now - PAST, now + FUTURE, STEP))
    lines = [f"{name} {value:.10g} {at}\n" for name, values in series.items() for at, value in samples(values, times)]
    (folder / "series").write_text("".join(lines) + "# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", folder / "series", folder / "tsdb"], check=True,
                   timeout=60)


class Boards:
    """`series`: by name and labels, how they go on. Commands are those of dashboards/draw/browser.mjs."""

    def __init__(self, folder: pathlib.Path, series: dict[str, str], dashboards: pathlib.Path = PROJECT / "dashboards"):
        (folder / "tsdb").mkdir()
        write(folder, series)
        (folder / "prometheus.yml").write_text("{}")
        self.port = free_port()
        self.prometheus = Process("prometheus", [
            shutil.which("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.port}"], folder)
        self.prometheus.wait_for("Server is ready", where="stderr")
        self.browser = subprocess.Popen(
            ["node", DRAWING / "drive.mjs", dashboards], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PROM": f"http://127.0.0.1:{self.port}", "PATH": "/usr/bin:/bin", "HOME": str(folder)})

    def __getattr__(self, command: str):
        def send(*words):
            self.browser.stdin.write(json.dumps([command, *words]) + "\n")
            self.browser.stdin.flush()
            answer = json.loads(self.browser.stdout.readline())
            assert "error" not in answer, f"{command} {words}: {answer['error']}"
            return answer["result"]
        return send

    def stop(self) -> None:
        self.browser.stdin.close()
        self.browser.wait(timeout=60)
        self.prometheus.kill()
