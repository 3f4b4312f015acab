#!/usr/bin/env python3
"""Runs a command in a terminal and draws what it prints as an SVG, in which each line appears when it came.

    scripts/record_terminal.py [--seconds N] [--columns N] [--shown COMMAND] OUT.svg COMMAND...

For commands that print lines, with colours (SGR): one that moves the cursor is an error. It ends with the command, or
after N seconds, by SIGINT as Ctrl-C gives.
"""
import argparse
import fcntl
import html
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

CELL, LINE, SIZE, MARGIN = 7.8, 18, 13, 14  # pixels
BACK, TEXT = "#1b1f24", "#d7dbe0"
# Paul Tol's "bright" scheme, for the colours that are called red, green, yellow, blue, magenta and cyan.
COLORS = {31: "#EE6677", 32: "#88BB77", 33: "#CCBB44", 34: "#6699CC", 35: "#CC77AA", 36: "#66CCEE", 37: TEXT}
SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
WORDS = re.compile(r"\S+(?: \S+)*")  # SVG makes one space of several


def run(command: list[str], columns: int, seconds: float) -> list[tuple[float, str]]:
    """Lines, with the seconds after the start at which they were complete."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    began, asked, rest, lines = time.monotonic(), False, b"", []
    while True:
        left = began + seconds - time.monotonic()
        if left <= 0 and not asked:
            os.kill(child, signal.SIGINT)
            asked = True
        if left < -10:
            sys.exit(f"{command[0]} does not end by SIGINT")
        if not select.select([terminal], [], [], max(left, 0.1))[0]:
            continue
        try:
            more = os.read(terminal, 65536)
        except OSError:  # nobody has the other end open any more
            more = b""
        if not more:
            break
        *complete, rest = (rest + more).split(b"\n")
        lines += [(time.monotonic() - began, line.decode(errors="replace").rstrip("\r")) for line in complete]
    _, status = os.waitpid(child, 0)
    if not lines or (os.waitstatus_to_exitcode(status) != 0 and not asked):
        sys.exit(f"{command[0]}: {len(lines)} lines, exit status {os.waitstatus_to_exitcode(status)}")
    return lines


def runs(line: str, number: int):
    """(column, text, colour, bold, dim) of each piece of one look."""
    color, bold, dim, column, at = TEXT, False, False, 0, 0
    for match in [*SEQUENCE.finditer(line), None]:
        text = line[at:match.start() if match else len(line)]
        if any(ord(letter) < 32 for letter in text):
            sys.exit(f"line {number} has control characters: {line!r}")
        if text:
            yield column, text, color, bold, dim
        column += len(text)
        if match is None:
            return
        at = match.end()
        if match[2] != "m":
            sys.exit(f"line {number} moves the cursor: {line!r}")
        for code in [int(code or 0) for code in match[1].split(";")]:
            if code == 0:
                color, bold, dim = TEXT, False, False
            elif code in (1, 2):
                bold, dim = bold or code == 1, dim or code == 2
            elif code in (22, 39):
                color, bold, dim = (color, False, False) if code == 22 else (TEXT, bold, dim)
            else:
                color = COLORS.get(code % 60 if code >= 90 else code, color)


def draw(lines: list[tuple[float, str]], columns: int) -> str:
    width, height = 2 * MARGIN + columns * CELL, 2 * MARGIN + len(lines) * LINE
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
           f'viewBox="0 0 {width:.0f} {height:.0f}">',
           f'<rect width="100%" height="100%" rx="6" fill="{BACK}"/>',
           f'<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">']
    for number, (when, line) in enumerate(lines, 1):
        out.append("<g>" if when <= 0 else f'<g><set attributeName="visibility" to="hidden" begin="0s" dur="{when:.2f}s"/>')
        for column, text, color, bold, dim in runs(line, number):
            look = (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
            for words in WORDS.finditer(text):
                # Its width is given, whatever font there is.
                out.append(f'<text x="{MARGIN + (column + words.start()) * CELL:.1f}" y="{MARGIN + number * LINE - 5}" '
                           f'fill="{color}" textLength="{len(words[0]) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
                           f"{look}>{html.escape(words[0])}</text>")
        out.append("</g>")
    return "\n".join([*out, "</g>", "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--columns", type=int, default=130)
    parser.add_argument("--shown", help="what stands behind the prompt, where it is not the command itself")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("which command?")
    lines = run(options.command, options.columns, options.seconds)
    prompt = f"$ {options.shown or ' '.join(options.command)}"
    longest = max(len(SEQUENCE.sub("", line)) for _, line in lines)
    options.out.write_text(draw([(0, prompt), *lines], min(options.columns, max(longest, len(prompt)))))
    print(f"{options.out}: {len(lines)} lines")


if __name__ == "__main__":
    main()
