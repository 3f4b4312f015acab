"""How pytest tells ctest that a test was skipped, and why: exit status 77 and a line "SKIPPED: reason"."""

SKIPPED_STATUS = 77  # SKIP_RETURN_CODE in CMake


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        terminalreporter.write_line(f"SKIPPED: {reason}")


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and "skipped" in reporter.stats and "passed" not in reporter.stats:
        session.exitstatus = SKIPPED_STATUS
