"""What ioc.py has measured, as tables: for a terminal and, between two markers, for bench/README.md and README.md."""

import os
import platform
import re
import statistics

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
END = "<!-- end of ioc.sh -->"
ALL_LOADS = "real IOCs"
# Empty programs that costs are given in multiples of: at the exporter's own places.
ENDS = "empty entry and end"

# Ways that the documents show, as they call them.
DOCUMENTED = {
    "nothing": "nothing",
    "empty entry": "an empty uprobe",
    ENDS: "an empty uprobe at the entry, and one at each end",
    "empty pair": "an empty uprobe and uretprobe",
    "ioc_exporter": "ioc_exporter",
    "no budget, all timed": "`--overhead.budget=0 --overhead.target=0`",
    "no budget, all timed, traces": "the same with `--collector.traces`",
    "no budget, without durations": "`--overhead.budget=0 --no-records.durations`",
    "puts only": "`--no-collector.records`",
    "bpftrace": "bpftrace",
}
MOTORS = "128 motors at 8 asyn-like ports, put-callbacks pending at all"
# Ways that only the load MOTORS shows. README.md leaves it out.
DOCUMENTED_OF_MOTORS = {"no budget, all timed, traces"}
# The columns that the documents show.
SHOWN = ["scan p99 ms", "put p99 us", "monitor p99 us"]
# The columns of the short table in README.md.
SHORT = {
    "nothing": "nothing",
    ENDS: "empty uprobes at entry and ends",
    "ioc_exporter": "ioc_exporter, default",
    "no budget, without durations": "every call counted, none timed",
    "no budget, all timed": "every call counted and timed",
    "bpftrace": "bpftrace",
}


def documented(load):
    return {way: label for way, label in DOCUMENTED.items() if load == MOTORS or way not in DOCUMENTED_OF_MOTORS}


def begin(name):
    return f"<!-- {name}: made by bench/ioc.sh --write-docs -->"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def cpu(results, way):
    return statistics.median(one["CPU %"] for one in results[way])


def added(results, way):
    """CPU that the way takes more than nothing in the same round."""
    return statistics.median(a["CPU %"] - b["CPU %"] for a, b in zip(results[way], results["nothing"]))


def number(column, value):
    return f"{value:,.0f}" if "us" in column else f"{value:.2f}"


def table(results, labels, shown=None):
    """A row for each way that was measured and has a label; all columns, or those that are shown."""
    columns = shown or [column for column in next(iter(results.values()))[0] if column != "CPU %"]
    floor = added(results, ENDS)
    lines = [row(["attached", "CPU %", "added", "end x", *columns]), "|---" * (len(columns) + 4) + "|"]
    for way, label in labels.items():
        if way not in results:
            continue
        more = added(results, way)
        cells = ["", ""] if way == "nothing" else [f"{more:.1f}", f"{more / floor:.2f}"]
        cells += [number(column, statistics.median(one[column] for one in results[way])) for column in columns]
        lines.append(row([label, f"{cpu(results, way):.1f}", *cells]))
    return lines


def short_table(measured):
    """CPU of the IOC alone: a row for each load, of (name, results)."""
    lines = [row(["CPU of the IOC, % of a core", *SHORT.values()]), "|---" * (len(SHORT) + 1) + "|"]
    for name, results in measured:
        if name == MOTORS:
            continue
        lines.append(row([name, *(f"{cpu(results, way):.1f}" if way in results else "" for way in SHORT)]))
    return lines


def between(text, name, lines):
    """The text with these lines between its markers for the name."""
    marked = re.compile(f"{re.escape(begin(name))}\n.*?{re.escape(END)}\n", re.S)
    if len(marked.findall(text)) != 1:
        raise ValueError(f"write the table of {name!r}: its markers are not there once")
    return marked.sub(lambda _: "\n".join([begin(name), "", *lines, "", END, ""]), text)


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        model = re.search(r"^model name\s*:\s*(.*)", info.read(), re.M)
    return model.group(1) if model else platform.machine()


def where(args):
    return (f"Linux {platform.release().split('-')[0]}, {os.cpu_count()} processors ({processor()}); medians of "
            f"{args.rounds} interleaved rounds of {args.seconds:g} s:")


def rewrite(path, tables):
    path = os.path.join(ROOT, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, lines in tables:
        text = between(text, name, lines)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_docs(measured, args):
    """Each load's table into bench/README.md; what matters of all, if all were measured, into README.md."""
    rewrite("bench/README.md", [(name, [where(args), "", *table(results, DOCUMENTED, shown=SHOWN)]) for name, results in measured])
    if not args.load:
        rewrite("README.md", [(ALL_LOADS, short_table(measured))])
