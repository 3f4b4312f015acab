"""What benchmarks of record probes attach to an IOC, and how they find where."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request


def fail(message):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {message}")


def copy_libraries(dbd, directory):
    """Libraries of their own: probes that somebody else has on the file do not reach the copy."""
    for name in glob.glob(os.path.join(dbd, "..", "lib", "*.so*")):
        shutil.copy(name, directory)


def ioc_environment(name, libraries, port="0"):
    return dict(os.environ, IOCNAME=name, LD_LIBRARY_PATH=libraries, EPICS_CAS_INTF_ADDR_LIST="127.0.0.1",
                EPICS_CA_SERVER_PORT=str(port), EPICS_CAS_BEACON_ADDR_LIST="127.0.0.1",
                EPICS_CAS_AUTO_BEACON_ADDR_LIST="NO", EPICS_CA_ADDR_LIST="127.0.0.1", EPICS_CA_AUTO_ADDR_LIST="NO")


def library_of(pid):
    """The libdbCore that a process maps."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            if re.search(r"/libdbCore\.so", line):
                return line.split(maxsplit=5)[5].strip()
    return fail("the IOC has no libdbCore")


def offset_in_file(library, symbol):
    symbols = subprocess.run(["readelf", "-WsD", library], check=True, capture_output=True, text=True).stdout
    address = int(re.search(rf":\s+([0-9a-f]+)\s.*\s{symbol}(?:@|$)", symbols, re.M).group(1), 16)
    segments = subprocess.run(["readelf", "-Wl", library], check=True, capture_output=True, text=True).stdout
    for offset, virtual, size in re.findall(r"LOAD\s+0x(\w+)\s+0x(\w+)\s+0x\w+\s+0x(\w+)", segments):
        offset, virtual, size = int(offset, 16), int(virtual, 16), int(size, 16)
        if virtual <= address < virtual + size:
            return address - virtual + offset
    return fail(f"{symbol} is in no segment of {library}")


def cpu_seconds(pid):
    """Of threads that live, in nanoseconds exactly: sum_exec_runtime."""
    total, base = 0, f"/proc/{pid}/task"
    for task in os.listdir(base):
        with open(f"{base}/{task}/schedstat", encoding="ascii") as stat:
            total += int(stat.read().split()[0])
    return total / 1e9


class Answering:
    """A program that prints "ready", and answers lines of its stdin with lines."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL, env=environment)
        while (line := self.process.stdout.readline()).strip() != "ready":
            if not line:
                fail(f"{command[0]} does not start")

    def tell(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def numbers(self):
        return [float(x) for x in self.process.stdout.readline().split()]

    def stop(self):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()


class Held:
    """A tool that is attached while the `with` block runs."""

    def __init__(self, command, is_attached, **options):
        self.command, self.is_attached, self.options = command, is_attached, options

    def __enter__(self):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=self.log,
                                        stderr=subprocess.STDOUT, text=True, **self.options)
        for _ in range(300):
            self.log.seek(0)
            if self.is_attached(self.log.read()):
                time.sleep(0.3)
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.process.terminate()
        self.log.seek(0)
        return fail(f"{self.command[0]} did not attach:\n{self.log.read()}")

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Exporter(Held):
    """The exporter beside one IOC."""

    def __init__(self, build, ioc, *options):
        super().__init__([os.path.join(build, "ioc_exporter"), "--web.listen-address=127.0.0.1:0", f"--ioc.include={ioc}",
                          *options], lambda log: "counting" in log)

    def page(self):
        """Its metrics, as text."""
        self.log.seek(0)
        port = re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log.read())[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            return answer.read().decode()


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def empty_probes(build, pid, *how):
    """Empty programs at dbProcess of a process; how: "entry" for no return probe, "ends" for none but at its ends."""
    library = library_of(pid)
    command = [os.path.join(build, "bench", "empty_probes"), library, str(offset_in_file(library, "dbProcess")),
               str(pid), *how]
    return Held(command, lambda log: "attached" in log)


def bpftrace_script(pid, name="records.bt"):
    """A script of this folder for a process."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), encoding="utf-8") as file:
        return file.read().replace("LIBRARY", library_of(pid)).replace("PID", str(pid))
