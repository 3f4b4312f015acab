#!/usr/bin/env python3
"""No shell script pipes a program into one that leaves before its input ends (grep -q, head): the first then gets SIGPIPE,
or not, and under pipefail the pipe fails now and then."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = re.compile(r"^(build[^/]*|dist|\.cache|\.git)/")
LEAVES = re.compile(r"""(?<!\|)\|&?\s*(?:\w+=\S*\s+)*(?:sudo\s+|busybox\s+)?(?:
    head\b
  | [ef]?grep\b[^|;&)\n]*?\s(?:-[A-Za-z]*[qlLm]|--(?:quiet|silent|max-count|files-with))
  | sed\b[^|\n]*?[\d/;{$'"\s]q(?=['"};\s]|$)
  | awk\b[^\n]*?\bexit\b
)""", re.VERBOSE)

LEAVING = ["a | grep -q b", "a | grep -E -q b", "a |\n  grep -Eqs b", "a \\\n  | head -1", "a |& head", "a | sed 5q",
           "a | sed -n '/b/{p;q}'", "a | awk -F'|' '{ print; exit }'", "(a; b) | grep --quiet c", "a | grep -m 1 b"]
STAYING = ["grep -q b <<<\"$a\"", "a || grep -q b file", "a | grep b >/dev/null", "a | sed 's/q/r/'", "a | awk '{ print }'",
           "a | tail -n 1; grep -q b c", "# a | head -1", "a | sort | header"]


def leaving(text: str) -> list[str]:
    """The ends of such pipes."""
    code = re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [" ".join(found.group().split()) for found in LEAVES.finditer(code)]


def scripts() -> list[pathlib.Path]:
    """All files with a shell in their first line, and those to be sourced."""
    found = []
    for path in sorted(ROOT.rglob("*")):
        if NOT_OURS.match(str(path.relative_to(ROOT))) or not path.is_file():
            continue
        with path.open("rb") as file:
            shebang = re.match(rb"#!.*\b(ba|da)?sh\b", file.readline(100))
        if shebang or path.suffix == ".sh" or path.parent.parent == ROOT / "packaging" and path.suffix == "":
            found.append(path)
    return found


if __name__ == "__main__":
    wrong = [f"not found: {sample}" for sample in LEAVING if not leaving(sample)]
    wrong += [f"found in vain: {sample}" for sample in STAYING if leaving(sample)]
    known = scripts()
    for script in ("run.sh", "test.sh", ".ci/run", "scripts/install-deps.sh", "tests/vm/guest_lib.sh", "packaging/debian/prerm"):
        if ROOT / script not in known:
            wrong.append(f"not looked at: {script}")
    for path in known:
        wrong += [f"{path.relative_to(ROOT)}: {pipe}" for pipe in leaving(path.read_text(errors="replace"))]
    print("\n".join(wrong) if wrong else f"{len(known)} scripts, and no pipe into what leaves early")
    sys.exit(1 if wrong else 0)
