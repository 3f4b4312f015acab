"""Reads ctest's JUnit file: how many tests ran, which were skipped and why, which failed.

    test_summary.py JUNIT_FILE

The last line is "N passed, N failed, N skipped". Exit status 1 when one failed or none ran.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case: ElementTree.Element) -> str:
    """What the test itself printed: "SKIPPED: reason", or GoogleTest's line after "Skipped"."""
    output = case.findtext("system-out") or ""
    ours = re.search(r"^SKIPPED: (.+)$", output, re.MULTILINE)
    googletest = re.search(r": Skipped\n(.+)$", output, re.MULTILINE)
    match = ours or googletest
    if match:
        return match[1].strip()
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was printed"


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: test_summary.py JUNIT_FILE")
    passed, failed, skipped = [], [], []
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        name = case.get("name")
        skip = case.find("skipped")
        # ctest also reports a test whose program is missing as not run: that is a failure.
        if skip is not None and (skip.get("message") or "").startswith("SKIP_"):
            skipped.append(f"{name}: {skip_reason(case)}")
        elif case.get("status") == "run" and case.find("failure") is None:
            passed.append(name)
        else:
            failed.append(name)

    print(f"\n{len(passed) + len(failed) + len(skipped)} tests")
    for title, entries in (("skipped", skipped), ("failed", failed)):
        if entries:
            print(f"{title}:")
            print("\n".join(f"  {entry}" for entry in entries))
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
