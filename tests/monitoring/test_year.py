"""A year's events, each reported as year.py says."""
import concurrent.futures
import os

import year
from project import run_tool


def test_each_event_is_told_as_often_as_it_should(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda path: run_tool("promtool", "test", "rules", path), year.write_tests(tmp_path)))
