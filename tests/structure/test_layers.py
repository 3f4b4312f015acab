#!/usr/bin/env python3
"""The layers of src/, as docs/architecture.md draws them: each #include goes to a lower layer or stays in
its room, each folder is a room of the table, and libbpf is included in src/kernel and by owners of BPF objects
only."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs/architecture.md"
INCLUDE = re.compile(r'^\s*#include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def layers(text: str) -> dict[str, int]:
    """Room to layer, from the line "Layers: `base` < `kernel`, `exposition` < ..."."""
    line = re.search(r"^Layers: (.*)$", text, re.MULTILINE)
    if line is None:
        sys.exit(f"{ARCHITECTURE}: there is no line 'Layers: `room`, `room` < `room` ...'")
    return {room: level for level, rooms in enumerate(line[1].split("<"))
            for room in re.findall(r"`(\w+)`", rooms)}


def rooms_of_table(text: str) -> set[str]:
    return set(re.findall(r"^\| `src/(\w+)/?` ", text, re.MULTILINE))


def problems() -> list[str]:
    text = ARCHITECTURE.read_text()
    level = layers(text)
    found = []
    folders = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    for name, told in (("the line of layers", set(level)), ("the table of rooms", rooms_of_table(text))):
        found += [f"docs/architecture.md: {name} lacks src/{room}" for room in sorted(folders - told)]
        found += [f"docs/architecture.md: {name} has {room}, which is no folder of src" for room in sorted(told - folders)]
    for path in sorted((ROOT / "src").glob("*/**/*.[ch]*")):
        where = path.relative_to(ROOT)
        room = where.parts[1]
        for quoted, angled in INCLUDE.findall(path.read_text()):
            other = quoted.split("/")[0] if "/" in quoted else ""
            if other in level and other != room and level[other] >= level.get(room, 0):
                found.append(f"{where}: {room} includes {quoted}, which is not below it")
            uses_libbpf = angled.startswith("bpf/") or quoted.endswith(".skel.h")
            if uses_libbpf and room != "kernel" and not path.stem.endswith(("_object", "exit_watch", "packet_tap", "programs")):
                found.append(f"{where}: only src/kernel and owners of BPF objects include libbpf ({angled or quoted})")
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) if wrong else "all includes go down")
    sys.exit(1 if wrong else 0)
