"""Counts the single tests of a ctest run: how many passed, which were skipped and why, which failed.

    test_summary.py [--again CTEST_JUNIT_FILE] CTEST_JUNIT_FILE RESULTS_DIRECTORY...
    test_summary.py --waits CTEST_JUNIT_FILE RESULTS_DIRECTORY...

An entry of ctest that runs many tests leaves ENTRY.xml in one of the directories, as GoogleTest and pytest
write it. The last line is "N passed, N failed, N skipped". Exit status 1 when one failed or none passed.

--waits: prints the entries that failed because a wait ran out, and for no other reason, as an expression for
ctest's -R; nothing, where another failed or more than four did. --again: the file of a second run of those, whose
outcomes count.
"""
import argparse
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


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
    if entry.startswith("build.") and outcome[0] == "passed":
        return {}  # a fixture that others wait for, and no test
    if not singles:
        return {entry: outcome}
    # It ended badly though each test passed: a time limit, or a leak that is found at the end.
    if outcome[0] == "failed" and not any(one == "failed" for one, _ in singles.values()):
        singles[entry] = outcome
    return singles


def ran_out(directories: list[pathlib.Path], entry: str) -> bool:
    """Has each test of the entry that failed waited in vain, as harness/waiting.py says it, or for an answer or an end?"""
    file = next((d / f"{entry}.xml" for d in directories if (d / f"{entry}.xml").exists()), None)
    if not file:
        return False
    root = ElementTree.parse(file).getroot()
    reasons = [case.get("message") or "" for kind in ("failure", "error") for case in root.iter(kind)]
    # What a fixture waits for is an error to pytest: failed on setup with "AssertionError: ...
    in_vain = re.compile(r'(failed on setup with ")?(AssertionError: not within |TimeoutError|subprocess\.TimeoutExpired)')
    return bool(reasons) and all(in_vain.match(reason) for reason in reasons)


def entries_of(file: str) -> list[ElementTree.Element]:
    return list(ElementTree.parse(file).getroot().iter("testcase"))


def failed_of(file: str) -> list[str]:
    return [case.get("name") or "" for case in entries_of(file) if outcome_of_entry(case)[0] == "failed"]


def print_waits(file: str, directories: list[pathlib.Path]) -> int:
    failed = failed_of(file)
    if 0 < len(failed) <= 4 and all(ran_out(directories, entry) for entry in failed):
        print("^(" + "|".join(map(re.escape, failed)) + ")$")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--again")
    parser.add_argument("file")
    parser.add_argument("directories", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.waits:
        return print_waits(arguments.file, arguments.directories)
    entries = {case.get("name"): case for case in entries_of(arguments.file)}
    again = {case.get("name"): case for case in entries_of(arguments.again)} if arguments.again else {}
    entries |= again
    tests: dict[str, tuple[str, str]] = {}
    for case in entries.values():
        tests |= tests_of_entry(case, arguments.directories)
    counts = collections.Counter(outcome for outcome, _ in tests.values())
    print(f"\n{len(tests)} tests")
    for title in ("skipped", "failed"):
        names = [f"  {name}{': ' if reason else ''}{reason}"
                 for name, (outcome, reason) in tests.items() if outcome == title]
        if names:
            print("\n".join([f"{title}:", *names]))
    for name in failed_of(arguments.file) if again else []:
        print(f"{name}: a wait ran out beside others, so it was run a second time, alone: "
              f"{outcome_of_entry(entries[name])[0]}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
