#!/usr/bin/env python3
"""What IOCs pay by the first instruction of their functions, and what the exporter says they pay.

EPICS Base's libdbCore is compiled from its source package in each way of BUILDS. A busy and a slow IOC run on each.
Interleaved; figures are medians over the rounds, percent of a core. "added" is CPU against the mean of the runs without an exporter
before and after, "said" the growth of ioc_exporter_ioc_overhead_seconds_total.
"""

import argparse
import glob
import os
import re
import shlex
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

from attached import Answering, Exporter, copy_libraries, cpu_seconds, fail, ioc_environment

LOADS = {"busy: 1,000 records at 10 Hz": (1000, ".1 second"), "slow: 100 records at 1 Hz": (100, "1 second")}
# -fsplit-stack: functions begin with cmp, which the kernel single-steps wherever a probe is put.
BUILDS = {"push": "-fcf-protection=none", "endbr64": "-fcf-protection=full", "cmp": "-fcf-protection=none -fsplit-stack"}
FLAGS = "-c -O2 -fPIC -w -D_GNU_SOURCE -D_DEFAULT_SOURCE -DUSE_TYPED_RSET -DBUILDING_dbCore -DBUILDING_DBCORE_API"


def source_of(base, directory):
    """The folder of the source package that the Base here was built from."""
    [facts] = glob.glob(os.path.join(os.path.realpath(base), "..", "epicscorelibs-*.dist-info"))
    version = re.search(r"epicscorelibs-(.*)\.dist-info", facts)[1]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=epicscorelibs", "--dest", directory,
                    f"epicscorelibs=={version}"], check=True)
    [package] = glob.glob(os.path.join(directory, "*.tar.gz"))
    with tarfile.open(package) as archive:
        archive.extractall(directory, filter="data")
    return package.removesuffix(".tar.gz")


def compile_core(source, base, libraries, flags):
    """Puts a libdbCore in the place of the one that is there."""
    with open(os.path.join(source, "setup.py.d", "dbCore.all.source"), encoding="ascii") as lines:
        names = [line.strip() for line in lines if re.match(r"\w.*\.(c|cpp)$", line.strip())]
    [library] = glob.glob(os.path.join(libraries, "libdbCore.so.*"))
    includes = ["include", "generated", *{os.path.dirname(name) for name in names}, "../../../ca/src/client", "../../../libcom/src",
                *(os.path.join(base, "include", of) for of in ("", "os/Linux", "compiler/gcc"))]
    with tempfile.TemporaryDirectory() as objects:
        with open(os.path.join(objects, "epicsVCS.h"), "w", encoding="ascii") as version:
            version.write('#define EPICS_VCS_VERSION ""\n#define EPICS_VCS_VERSION_DATE ""\n')
        rules = [f"all: {' '.join(os.path.join(objects, name.replace('/', '_')) + '.o' for name in names)}"]
        for name in names:
            compiler = "g++ -std=gnu++11" if name.endswith(".cpp") else "gcc"
            options = " ".join(["-I" + shlex.quote(one) for one in [objects, *includes]])
            rules.append(f"{os.path.join(objects, name.replace('/', '_'))}.o:\n"
                         f"\t{compiler} {FLAGS} {flags} {options} {name} -o $@")
        subprocess.run(["make", "--silent", f"-j{os.cpu_count()}", "-f", "-"], check=True, text=True, input="\n".join(rules) + "\n",
                       cwd=os.path.join(source, "modules/database/src/ioc"))
        subprocess.run(["g++", "-shared", f"-Wl,-soname,{os.path.basename(library)}", "-o", library,
                        *glob.glob(os.path.join(objects, "*.o")), f"-L{libraries}", "-lca", "-lCom"], check=True)


def said(page):
    found = re.findall(r"^ioc_exporter_ioc_overhead_seconds_total\{[^}]*\} (\S+)", page, re.M)
    return sum(map(float, found)) if found else fail("the exporter says nothing of the cost")


def share(pid, seconds):
    cpu, start = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - cpu) / (time.monotonic() - start) * 100


def measure(args, pid, name):
    before = share(pid, args.seconds)
    with Exporter(args.build, name, "--overhead.budget=0", *args.option) as exporter:
        time.sleep(args.settle)
        start, first = time.monotonic(), said(exporter.page())
        watched = share(pid, args.seconds)
        figure = (said(exporter.page()) - first) / (time.monotonic() - start) * 100
    time.sleep(1)
    without = (before + share(pid, args.seconds)) / 2
    return {"CPU": without, "added": watched - without, "said": figure}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--dbd", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--settle", type=float, default=5, help="seconds between attaching and measuring")
    parser.add_argument("--option", action="append", default=[], help="of ioc_exporter, as --option=--overhead.target=0")
    args = parser.parse_args()
    base = os.path.dirname(os.path.abspath(args.dbd))
    with tempfile.TemporaryDirectory() as directory:
        source, iocs, results = source_of(base, directory), {}, {}
        for number, (build, flags) in enumerate(BUILDS.items()):
            libraries = os.path.join(directory, build)
            os.mkdir(libraries)
            copy_libraries(args.dbd, libraries)
            compile_core(source, base, libraries, flags)
            for of, (load, (count, scan)) in enumerate(LOADS.items()):
                name, database = f"GUARDED{number}{of}", os.path.join(directory, f"{count}.db")
                with open(database, "w", encoding="ascii") as out:
                    out.writelines(f'record(calc,"LOAD:{i}"){{field(CALC,"VAL+1") field(SCAN,"{scan}")}}\n' for i in range(count))
                iocs[load, build] = name, Answering([os.path.join(args.build, "bench", "ioc_load"), args.dbd, database],
                                                    ioc_environment(name, libraries))
        try:
            for _ in range(args.rounds):
                for key, (name, ioc) in iocs.items():
                    results.setdefault(key, []).append(measure(args, ioc.process.pid, name))
        finally:
            for _, ioc in iocs.values():
                ioc.stop()
    print("| IOC | functions begin with | CPU % | added | said | said / added |\n|---|---|---|---|---|---|")
    for (load, build), rounds in results.items():
        cpu, added, figure = (statistics.median(one[what] for one in rounds) for what in ("CPU", "added", "said"))
        print(f"| {load} | {build} | {cpu:.2f} | {added:.3f} | {figure:.3f} | {figure / added:.2f} |")


if __name__ == "__main__":
    main()
