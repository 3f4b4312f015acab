#!/usr/bin/env python3
"""A put's way, as docs/architecture.md lists it: every file is there, each .bpf.c reaches no other bpf file than those
that are listed, and each file of src is reached from the collector by includes."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"', re.MULTILINE)


def listed() -> list[str]:
    text = (ROOT / "docs/architecture.md").read_text()
    way = re.search(r"^## A put's way$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    if way is None:
        sys.exit("docs/architecture.md: there is no section 'A put's way'")
    return re.findall(r"`((?:src|bpf)/[^`]+)`", way[1])


def find(name: str, where: pathlib.Path) -> pathlib.Path | None:
    for folder in (where.parent, ROOT / "src", ROOT / "bpf"):
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None


def reached(starts: list[str]) -> set[str]:
    """By includes; of a header also its .cpp files, which share its stem."""
    todo, seen = [ROOT / start for start in starts], set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        todo += [found for name in INCLUDE.findall(path.read_text()) if (found := find(name, path))]
        if path.suffix == ".h" and path.is_relative_to(ROOT / "src/puts"):
            todo += sorted(path.parent.glob(f"{path.stem}*.cpp"))
    return {str(path.relative_to(ROOT)) for path in seen}


def problems() -> list[str]:
    files = listed()
    found = [f"docs/architecture.md: a put's way has {name}, which is no file" for name in files if not (ROOT / name).is_file()]
    if found:
        return found
    programs = [name for name in files if name.endswith(".bpf.c")]
    for name in sorted(reached(programs)):
        if name.startswith("bpf/puts/") and name not in files:
            found.append(f"docs/architecture.md: a put's way lacks {name}, which {' or '.join(programs)} includes")
    known = reached(["src/puts/collector.h"])
    found += [f"{name}: src/puts/collector.h does not reach it" for name in files
              if name.startswith("src/") and name not in known]
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) if wrong else f"{len(listed())} files, each on the way")
    sys.exit(1 if wrong else 0)
