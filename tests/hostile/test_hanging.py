"""Processes whose memory or files never answer, beside a real IOC: nobody waits for them.

A FUSE file system of a user's own does it here; a dead NFS server does the same without malice.
"""
import re

import pytest

from harness import databases
from harness.waiting import wait_until
from neighbours import check_that_all_goes_on

EXPORTER_OPTIONS = ["--discovery.interval=200ms"]
FAILED = "ioc_exporter_readings_failed_total"


def test_records_on_a_page_that_never_answers(start_ioc, start_exporter, silent_file, fake_ioc):
    ioc = start_ioc("beside-a-silent-page", databases.put_targets("H:", 2))
    file, server = silent_file("read")
    fake = fake_ioc("silent-page", file)
    exporter = start_exporter(f"--ioc.include={ioc.name}|silent-page", sees=[ioc])
    server.wait_for("^@asked$")
    # The first reader may be given up before it has come to the page: then the next one is stuck.
    exporter.wait_scrape(lambda s: s.value(FAILED, reason="timeout") >= 1,
                         "a reading is given up", 60)
    wait_until(lambda: re.search("no answer within|did not answer", exporter.request("/")[2].decode()),
               "the page says so")
    check_that_all_goes_on(exporter, ioc, fake)


@pytest.mark.parametrize("request_", ["open", "getattr"])
def test_code_in_a_file_that_never_answers(start_ioc, start_exporter, silent_file, fake_ioc, request_):
    ioc = start_ioc(f"beside-a-silent-{request_}", databases.put_targets("H:", 2))
    file, server = silent_file(request_)
    fake = fake_ioc(f"silent-{request_}", file, "code")
    exporter = start_exporter(f"--ioc.include={ioc.name}", sees=[ioc])
    server.wait_for("^@asked$")
    exporter.wait_scrape(lambda s: s.value(FAILED, reason="timeout") >= 1, "the reading is given up")
    exporter.process.wait_for(rf"no answer within.*\(pid {fake.pid}\)", "stderr")
    check_that_all_goes_on(exporter, ioc, fake)
