"""Counts the single tests of a ctest run: how many passed, which were skipped and why, which failed; and names the entries that
took longest.

    test_summary.py CTEST_JUNIT_FILE RESULTS_DIRECTORY...

An entry of ctest that runs many tests leaves ENTRY.xml in one of the directories, as GoogleTest and pytest
write it. The last line is "N passed, N failed, N skipped". Exit status 1 when one failed or none passed.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

LONGEST = 10  # entries that are named


def reason_in(output: str) -> str:
    """What a test printed itself: "SKIPPED: reason"."""
    if match := re.search(r"^SKIPPED: (.+)$", output, re.MULTILINE):
        return match[1].strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was printed"


def single_name(entry: str, case: ElementTree.Element) -> str:
    name = case.get("name") or ""
    if name.startswith("test_"):  # pytest: the entry says the file
        return f"{entry}.{name.removeprefix('test_')}"
    return f"{entry}.{case.get('classname')}.{name}"


def single_tests(entry: str, file: pathlib.Path) -> dict[str, tuple[str, str]]:
    """Name to (outcome, reason). A test that failed and whose clean-up failed, too, counts once."""
    found: dict[str, tuple[str, str]] = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        name = single_name(entry, case)
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            found[name] = "failed", ""
        elif skip is not None or case.get("result") == "suppressed" or case.get("status") == "notrun":
            # GoogleTest puts the place in the code before the reason.
            lines = [line for line in ((skip.get("message") if skip is not None else "") or "").splitlines() if line]
            found.setdefault(name, ("skipped", lines[-1] if lines else "no reason was given"))
        else:
            found.setdefault(name, ("passed", ""))
    return found


def outcome_of_entry(case: ElementTree.Element) -> tuple[str, str]:
    skip = case.find("skipped")
    # ctest also reports a test whose program is missing as not run: that is a failure.
    if skip is not None and (skip.get("message") or "").startswith("SKIP_"):
        return "skipped", reason_in(case.findtext("system-out") or "")
    return ("passed" if case.get("status") == "run" and case.find("failure") is None else "failed"), ""


def tests_of_entry(case: ElementTree.Element, directories: list[pathlib.Path]) -> dict[str, tuple[str, str]]:
    entry = case.get("name") or ""
    outcome = outcome_of_entry(case)
    file = next((d / f"{entry}.xml" for d in directories if (d / f"{entry}.xml").exists()), None)
    singles = single_tests(entry, file) if file else {}
    if entry.startswith("make.") and outcome[0] == "passed":
        return {}  # what others need, and no test
    if not singles:
        return {entry: outcome}
    # It ended badly though each test passed: a time limit, or a leak that is found at the end.
    if outcome[0] == "failed" and not any(one == "failed" for one, _ in singles.values()):
        singles[entry] = outcome
    return singles


def main() -> int:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    directories = list(map(pathlib.Path, sys.argv[2:]))
    entries = list(ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    tests: dict[str, tuple[str, str]] = {}
    for case in entries:
        tests |= tests_of_entry(case, directories)
    counts = collections.Counter(outcome for outcome, _ in tests.values())
    print(f"\n{len(tests)} tests")
    for title in ("skipped", "failed"):
        names = [f"  {name}{': ' if reason else ''}{reason}"
                 for name, (outcome, reason) in tests.items() if outcome == title]
        if names:
            print("\n".join([f"{title}:", *names]))
    print("longest, in seconds:")
    seconds = {case.get("name"): float(case.get("time") or 0) for case in entries}
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[:LONGEST]:
        print(f"  {name}: {seconds[name]:.0f}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
