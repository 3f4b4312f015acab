"""A real Prometheus scrapes the exporter and answers a query with the IOC's data."""
import json
import shutil
import urllib.error
import urllib.parse
import urllib.request

import pytest

from harness import clients, databases
from harness.ports import free_port
from harness.process import Process
from harness.scrape import PUTS
from harness.waiting import wait_until

CONFIG = """
scrape_configs:
  - job_name: ioc_exporter
    scrape_interval: 1s
    scrape_timeout: 1s
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


def query(port, expression):
    """Label sets and values of an instant query; an empty list while Prometheus is starting."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return [(r["metric"], float(r["value"][1])) for r in json.load(answer)["data"]["result"]]
    except (urllib.error.URLError, ConnectionError):
        return []


def test_prometheus_scrapes_and_answers(start_ioc, start_exporter, connect, started, log_dir):
    binary = shutil.which("prometheus")
    if not binary:
        pytest.skip("prometheus is not installed (package prometheus)")
    ioc = start_ioc("scraped", databases.put_targets("W:", 1))
    exporter = start_exporter(sees=[ioc])
    connect(clients.caproto, [ioc], ["W:set1"], 23, user="operator").send()

    (log_dir / "prometheus.yml").write_text(CONFIG.format(port=exporter.port))
    port = free_port()
    started.add(Process("prometheus", [
        binary, f"--config.file={log_dir}/prometheus.yml", f"--storage.tsdb.path={log_dir}/tsdb",
        f"--web.listen-address=127.0.0.1:{port}"], log_dir))
    found = wait_until(lambda: query(port, f'{PUTS}{{ioc="scraped"}}'), "the puts in Prometheus", 30)
    assert [value for _, value in query(port, 'up{job="ioc_exporter"}')] == [1.0]
    (labels, value), = found
    assert (labels["pv"], labels["user"], labels["op"], value) == ("W:set1", "operator", "write", 23)
