"""A year's events, each told as docs/year.md says."""
import concurrent.futures
import os

import year
from project import run_tool


def test_each_event_is_told_as_often_as_it_should(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda path: run_tool("promtool", "test", "rules", path), year.write_tests(tmp_path)))


def test_the_page_says_so():
    assert year.PAGE.read_text() == year.page(), "python tests/monitoring/year.py writes docs/year.md"
