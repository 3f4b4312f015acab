"""Divides C++ files into groups that can be compiled as one file: one line a group.

    unity_groups.py FILE.cpp...

Files that define the same name in an unnamed namespace go into different groups, and a file whose unnamed namespace has a
type with the name of one in a header is alone.
"""
import pathlib
import re
import sys

LARGEST = 16
DEFINED = re.compile(r"(?:(?:struct|class|enum class|enum|union|concept)\s+(\w+)|using\s+(\w+)\s*="
                     r"|[\w:<>,&*\s\[\]\"()]*?\b(\w+)\s*[(={\[;])")
OTHER = re.compile(r"[A-Z_]+\(|using [\w:]+;|using namespace|static_assert")  # tests and so on: names that are given once
TYPE = re.compile(r"^(?:struct|class|enum class|using)\s+(\w+)", re.M)


def local_names(text: str) -> set[str]:
    """Of functions, variables, types and macros that only this file sees; a few more do no harm."""
    names = set(re.findall(r"^#define (\w+)", text, re.M))
    unnamed = False
    for line in text.splitlines():
        if line.startswith("namespace {"):
            unnamed = True
        elif line.startswith("}  // namespace"):
            unnamed = unnamed and not re.fullmatch(r"\}  // namespace", line)
        elif (unnamed or line.startswith("static ")) and re.match(r"[\w\[]", line) and not OTHER.match(line):
            if found := DEFINED.match(line.removeprefix("static ")):
                names.add(next(name for name in found.groups() if name))
                names.update(re.findall(r", (k[A-Z]\w*)\b", line))
    return names


def header_types(files: list[pathlib.Path]) -> set[str]:
    return {name for folder in {file.parent for file in files} for header in folder.glob("*.h")
            for name in TYPE.findall(header.read_text())}


def groups_of(files: list[pathlib.Path]) -> list[list[pathlib.Path]]:
    types = header_types(files)
    groups: list[tuple[list[pathlib.Path], set[str]]] = []
    for file in files:
        names = local_names(file.read_text())
        if names & types:
            continue
        for members, taken in groups:
            if len(members) < LARGEST and not names & taken:
                members.append(file)
                taken |= names
                break
        else:
            groups.append(([file], names))
    return [members for members, _ in groups if len(members) > 1]


if __name__ == "__main__":
    for group in groups_of([pathlib.Path(name) for name in sys.argv[1:]]):
        print(*group)
