"""Probes of another tool, bpftrace."""
import contextlib
import pathlib
import re
import shutil
import subprocess

import pytest


def library_with(ioc, function: str) -> str:
    """The file that the IOC has the function from."""
    maps = pathlib.Path(f"/proc/{ioc.pid}/maps").read_text()
    for path in sorted(set(re.findall(r"r-xp .*?(/\S+)$", maps, re.M))):
        symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", path], capture_output=True, text=True).stdout
        if re.search(rf" FUNC +GLOBAL +DEFAULT +\d+ {function}$", symbols, re.M):
            return path
    raise AssertionError(f"no library of {ioc.name} has {function}")


@contextlib.contextmanager
def return_probe(ioc, function: str, log: pathlib.Path):
    """A return probe on the function, for all processes; gives what tells how often it was hit."""
    if shutil.which("bpftrace") is None:
        pytest.skip("no bpftrace in PATH")
    program = f'uretprobe:{library_with(ioc, function)}:{function} {{ printf("hit\\n"); }}'
    with open(log, "wb") as out:
        process = subprocess.Popen(["bpftrace", "-B", "line", "-e", program], stdout=out, stderr=subprocess.STDOUT)
    try:
        yield lambda: log.read_text().count("hit\n")
    finally:
        process.terminate()
        process.wait(60)
