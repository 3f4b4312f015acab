"""A user's process with many files that look like libraries and take long to search, beside a real IOC."""
from harness import databases
from harness.scrape import PROCESSED

EXPORTER_OPTIONS = ["--discovery.interval=200ms"]


def test_sparse_libraries(start_ioc, start_exporter, map_sparse_files):
    """They are searched within a budget, and not by the thread that governs; a new IOC is found meanwhile."""
    first = start_ioc("before-sparse", databases.put_targets("S:", 1))
    exporter = start_exporter("--ioc.include=(before|after)-sparse", sees=[first])
    map_sparse_files()
    second = start_ioc("after-sparse", databases.put_targets("S:", 1))
    exporter.wait_up(second, 60)
    for ioc in (first, second):
        ioc.process_once("S:text1", 23)
        exporter.wait_scrape(lambda s: s.count(PROCESSED, ioc=ioc.name, record="S:text1") == 23, "exact counts")
    assert exporter.process.terminate() == 0
