"""The state of an IOC for Nagios."""
import re

from harness.exporter import run_exporter

EXPORTER_OPTIONS = ["--server-probe"]
RECORDS = """
record(ao, "C:set") {}
record(calcout, "C:never") { field(CALC, "A") field(ODLY, "10000") }
"""
POLICY = "policy: {rules: [{name: all, action: allow, users: 'ada|eve'}, {name: guests, action: forbid, users: guest}]}\n"


def test_check_for_nagios(shared, raw_client, tmp_path):
    (tmp_path / "site.yml").write_text(POLICY)
    ioc = shared.ioc("nagios", RECORDS)
    exporter = shared.exporter(f"--ioc.include={ioc.name}", f"--config.file={tmp_path}/site.yml", sees=[ioc])
    exporter.wait_put_source(ioc, "server")
    url = f"--url=http://127.0.0.1:{exporter.port}"

    def check(*options):
        done = run_exporter("check", ioc.name, url, *options)
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
    ioc.kill()
    exporter.wait_scrape(lambda page: page.value("epics_ioc_up", ioc=ioc.name) == 0, "the IOC has ended")
    assert check() == (2, f"IOC CRITICAL - {ioc.name}: has ended", ["up=0;;1:;0;1"])
