#!/usr/bin/env python3
"""How long ioc_exporter puts --since=10d --file takes for ten days of puts in 1 GiB of files, some of them, and the last hour.

  putlog_files.py PROGRAM FOLDER    (a Release build; the folder's disk needs room for the files, which stay)
"""
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

FILES, FILE_SIZE, DAYS = 11, 100 << 20, 10


def put(seq: int, moment: datetime.datetime) -> str:
    """A line as the exporter writes it, of 1,000 PVs in turn."""
    return json.dumps({
        "time": f"{moment:%Y-%m-%dT%H:%M:%S.%f}000Z", "seq": seq, "ioc": "power-supplies", "server": "10.0.0.4:5064",
        "client": f"10.0.0.{seq % 50}:40123", "user": f"operator{seq % 20}", "client_host": "console", "pv": f"SR:PS{seq % 1000}:Current-SP",
        "op": "write", "type": "DBR_DOUBLE", "count": 1, "value": seq * 0.25, "old": seq * 0.25 - 1, "status": "ok", "rule": "operators",
        "action": "expected"}, separators=(",", ":")) + "\n"


def make_files(path: pathlib.Path) -> int:
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    begin = now - datetime.timedelta(days=DAYS)
    size = len(put(10**6, now))
    each = FILE_SIZE // size
    step = datetime.timedelta(days=DAYS) / (each * FILES)
    for number in range(FILES):
        suffix = f".{FILES - 1 - number}" if number < FILES - 1 else ""
        first = number * each
        with open(f"{path}{suffix}", "w", encoding="ascii") as stream:
            stream.writelines(put(seq, begin + seq * step) for seq in range(first, first + each))
        written = (begin + (first + each) * step).replace(tzinfo=datetime.timezone.utc).timestamp()
        os.utime(f"{path}{suffix}", (written, written))
    return each * FILES


def main() -> None:
    program, folder = sys.argv[1:]
    path = pathlib.Path(folder) / "puts.jsonl"
    lines = make_files(path)
    print(f"{lines} puts in {FILES} files of {FILE_SIZE >> 20} MiB")
    for what, options, expected in (("one PV of ten days", [f"--since={DAYS}d", "--pv=SR:PS7:Current-SP"], lines // 1000),
                                    ("all of ten days", [f"--since={DAYS}d"], lines),
                                    ("the last hour", ["--since=1h"], lines // (24 * DAYS))):
        took = []
        for _ in range(3):
            begun = time.monotonic()
            done = subprocess.run([program, "puts", f"--file={path}", *options], check=True, capture_output=True)
            took.append(time.monotonic() - begun)
            found = done.stdout.count(b"\n")
            assert abs(found - expected) <= 0.01 * expected + 2, f"{what}: {found} puts, not {expected}"
        print(f"{what}: {found} puts, {statistics.median(took):.1f} s (median of 3)")


if __name__ == "__main__":
    main()
