#!/usr/bin/env python3
"""What src/probes decides is decided there: one attachment for a process or for all, which names are one file, what is attached
now and what comes off together; what an IOC pays too much for. Rooms above it say what they want (src/probes/row.h), and tell
what it costs (src/probes/budget.h)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINE = {"base", "kernel", "elf", "probes"}
DECISIONS = {
    "attaches": re.compile(r"\battach(?:er\(\)|er_)?(?:\.|->)attach(?:_ends)?\(|\battach_uprobes?\("),
    "takes off": re.compile(r"\btake_off_together\("),
    "chooses all processes": re.compile(r"\bkAllProcesses\b"),
    "compares inodes": re.compile(r"\bfind_same_inode\("),
    # Who does not know it cannot compare with it.
    "knows the budget": re.compile(r"\boverhead_budget\b"),
}
ALLOWED = {
    ("compares inodes", "src/functions/finder.cpp"),  # it reads a file's symbols once for all its mounts
    ("knows the budget", "src/records/options.h"),
    ("knows the budget", "src/records/options.cpp"),
    ("knows the budget", "src/app/rooms.cpp"),  # to make the one of the program
}


def problems() -> list[str]:
    found = []
    for path in sorted((ROOT / "src").glob("*/**/*.[ch]*")):
        where = str(path.relative_to(ROOT))
        if path.relative_to(ROOT).parts[1] in ENGINE:
            continue
        text = path.read_text()
        found += [f"{where}: {what}, which src/probes does for all rooms" for what, code in DECISIONS.items()
                  if code.search(text) and (what, where) not in ALLOWED]
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) if wrong else "only src/probes attaches")
    sys.exit(1 if wrong else 0)
