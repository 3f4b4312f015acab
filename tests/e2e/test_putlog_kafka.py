"""The put log in Kafka: by librdkafka's own mock of a cluster, in the exporter's sandbox."""
import json
import os

import pytest

from harness import clients, env
from harness.process import Process
from harness.waiting import wait_until

EXPORTER_OPTIONS = ["--no-collector.records", "--collector.putlog", "--putlog.burst=0s"]
EVENTS, DROPPED, WAITING, FAILURES = (f"ioc_exporter_putlog_{name}" for name in (
    "events_total", "dropped_total", "waiting", "sink_failures_total"))
TOPIC = "puts"


class Cluster:
    def __init__(self, log_dir):
        self.process = Process("kafka_cluster", [env.tool("kafka_cluster"), TOPIC], log_dir)
        self.brokers = self.process.wait_for(r"^(\S+:\d+)\n")[1]

    def tell(self, what: str) -> None:
        self.process.send_line(what)

    def messages(self) -> list[dict]:
        text = self.process.stdout()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()[1:]]


def test_puts_are_in_kafka_or_counted(start_ioc, start_exporter, connect, started, tmp_path):
    if not os.path.exists(env.tool("kafka_cluster")):
        pytest.skip("built without librdkafka")
    ioc = start_ioc("kafka", 'record(ao,"K:a"){} record(ao,"K:b"){}')
    cluster = started.add(Cluster(tmp_path))
    folder = tmp_path / "kafka"
    folder.mkdir(0o755)
    (folder / "properties").write_text("# of librdkafka\nreconnect.backoff.max.ms = 200\nlinger.ms=1\n")
    (folder / "site.yml").write_text(f"""
        putlog:
          sinks:
            - kafka: {{brokers: '{cluster.brokers}', topic: {TOPIC}, config: {folder}/properties}}
    """)
    exporter = start_exporter(f"--config.file={folder}/site.yml", f"--putlog.spool={folder}/spool", sees=[ioc])
    taken = lambda count: exporter.wait_scrape(lambda page: page.value(EVENTS, sink="kafka") == count, "Kafka took them", 60)
    sent = connect(clients.libca, [ioc], ["K:a", "K:b"], 50).send()
    assert taken(sent).total(DROPPED, sink="kafka") == 0
    wait_until(lambda: len(cluster.messages()) == sent, "all are read")
    for message in cluster.messages():
        put = message["value"]
        assert (message["key"], message["headers"]) == (put["pv"], {"ioc": "kafka"})
        assert message["time_ms"] % 1000 == int(put["time"].split(".")[1][:3])
    for pv in ("K:a", "K:b"):  # in order, in one partition
        own = [message for message in cluster.messages() if message["key"] == pv]
        assert len({message["partition"] for message in own}) == 1
        numbers = [message["value"]["seq"] for message in own]
        assert numbers == sorted(numbers)

    cluster.tell("down")
    sent += connect(clients.libca, [ioc], ["K:a"], 1200).send()
    exporter.wait_scrape(lambda page: page.value(FAILURES, sink="kafka") > 0 and page.value(WAITING, sink="kafka") == 1200,
                         "they wait", 60)
    assert "put log: kafka: send to Kafka at" in exporter.process.stderr()
    cluster.tell("up")
    assert taken(sent).value(WAITING, sink="kafka") == 0
    wait_until(lambda: len({message["value"]["seq"] for message in cluster.messages()}) == sent, "all are read")
    assert sorted(message["value"]["seq"] for message in cluster.messages()) == list(range(1, sent + 1))

    cluster.tell("refuse 1")
    connect(clients.libca, [ioc], ["K:b"], 1).send()
    page = exporter.wait_scrape(lambda page: page.value(DROPPED, sink="kafka", reason="refused") == 1, "it is refused", 60)
    assert page.value(EVENTS, sink="kafka") == sent and page.value(WAITING, sink="kafka") == 0
