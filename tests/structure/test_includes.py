#!/usr/bin/env python3
"""Each file includes what it uses of those headers that are read once for a whole target (cmake/Precompiled.cmake), by
itself or by what it includes of ours: the compiler does not notice one that is missing."""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRECOMPILED = ROOT / "cmake/Precompiled.cmake"
INCLUDE = re.compile(r'^\s*#include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
TEXT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
USES = {
    "algorithm": r"std::(?:ranges::)?(?:sort|stable_sort|find|find_if|any_of|all_of|none_of|count_if|transform|copy"
                 r"|copy_n|fill|max|min|max_element|min_element|clamp|unique|remove_if|lower_bound|upper_bound"
                 r"|binary_search|equal_range|mismatch|replace|reverse|rotate|search|partial_sort|nth_element|minmax)\(",
    "chrono": r"std::chrono\b",
    "functional": r"std::(?:function|bind|hash|reference_wrapper|ref|cref|invoke|greater|less|plus)\b",
    "map": r"std::(?:multi)?map<",
    "memory": r"std::(?:unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)\b",
    "ranges": r"std::(?:ranges::views|views)::",
    "string": r"std::(?:string\b|to_string|stoi|stol|stoul|stod|getline)",
    "unordered_map": r"std::unordered_(?:multi)?map<",
    "variant": r"std::(?:variant<|visit\(|get_if<|holds_alternative<|monostate)",
    "vector": r"std::vector<",
    "gtest/gtest.h": r"\b(?:TEST|TEST_F|TEST_P|EXPECT_\w+|ASSERT_\w+)\(",
    "gmock/gmock.h": r"\b(?:EXPECT_THAT|ASSERT_THAT|ElementsAre|UnorderedElementsAre|HasSubstr|MATCHER\w*)\(",
}
# Standard headers that have another as a part, by the standard's text.
BRINGS = {"gmock/gmock.h": {"gtest/gtest.h"}}


@functools.cache
def includes(path: pathlib.Path) -> frozenset:
    """Names in <>, of the file and of all of ours that it includes."""
    found, waiting, seen = set(), [path], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for quoted, angled in INCLUDE.findall(one.read_text()):
            if angled:
                found |= {angled} | BRINGS.get(angled, set())
                continue
            places = (one.parent, ROOT / "src", ROOT / "bpf", ROOT / "tests", ROOT / "bench")
            waiting += [place / quoted for place in places if (place / quoted).is_file()][:1]
    return frozenset(found)


def problems() -> list[str]:
    commands = re.sub(r"#.*", "", PRECOMPILED.read_text())
    listed = set(re.findall(r"<([\w/.]+)>", commands))
    found = [f"{PRECOMPILED.name} has <{name}>, and this test does not know what comes from there"
             for name in sorted(listed - set(USES))]
    found += [f"this test knows <{name}>, which {PRECOMPILED.name} has not" for name in sorted(set(USES) - listed)]
    files = [path for folder in ("src", "tests", "bench") for path in (ROOT / folder).rglob("*")
             if path.suffix in (".cpp", ".h")]
    if len(files) < 100:
        sys.exit(f"{ROOT}: there are only {len(files)} files")
    for path in sorted(files):
        code = TEXT.sub('""', "\n".join(line for line in path.read_text().splitlines()
                                         if not line.lstrip().startswith("#include")))
        for header, pattern in USES.items():
            use = re.search(pattern, code)
            if use and header not in includes(path):
                found.append(f"{path.relative_to(ROOT)}: {use[0]} without #include <{header}>")
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) if wrong else "all files include what they use")
    sys.exit(1 if wrong else 0)
