"""Boots a kernel under qemu's software emulation with an initramfs made of what the tests need."""
import os
import pathlib
import platform
import shutil
import subprocess
from typing import NamedTuple

import pytest

from harness import env

VM_DIR = pathlib.Path(__file__).resolve().parent
BOOT_LIMIT = 1500  # seconds: emulation takes one to two minutes on an idle machine, ten on one that builds beside it


class Processor(NamedTuple):
    """An emulated machine."""
    qemu: list[str]
    console: str
    serial: str  # where the scripts inside tell what they see


# Where a cross-build has its libraries: the machine is of that processor then, else of this host's.
ROOT = pathlib.Path(os.environ["IOC_EXPORTER_VM_ROOT"]) if os.environ.get("IOC_EXPORTER_VM_ROOT") else None
if ROOT:
    # It has one serial port of its own.
    PROCESSOR = Processor(["qemu-system-aarch64", "-M", "virt", "-cpu", "neoverse-n1"], "ttyAMA0", "/dev/ttyS0")
else:
    PROCESSOR = Processor(["qemu-system-x86_64"], "ttyS0", "/dev/ttyS1")
LOADER = "/lib/ld-linux-aarch64.so.1"
HOST_BUSYBOX = pathlib.Path("/bin/busybox")
BUSYBOX = ROOT / "bin/busybox" if ROOT else HOST_BUSYBOX


def kernel_of(series: str) -> pathlib.Path:
    """Skips the test where it cannot be booted."""
    directory = os.environ.get("IOC_EXPORTER_VM_KERNELS")
    assert directory, "IOC_EXPORTER_VM_KERNELS is not set: run ./test.sh"
    kernel = pathlib.Path(directory) / series / "vmlinuz"
    if not kernel.exists():
        pytest.skip(f"there is no kernel {series}: scripts/make-vm-kernels.sh fetches it on Debian hosts")
    if platform.machine() != "x86_64":
        pytest.skip(f"the virtual machines are emulated on x86_64, this host is {platform.machine()}")
    for program in (PROCESSOR.qemu[0], "busybox", *(["qemu-aarch64-static"] if ROOT else [])):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: scripts/install-deps.sh test installs it")
    return kernel


def shared_libraries(program: pathlib.Path, library_path: pathlib.Path) -> list[pathlib.Path]:
    """The files that the dynamic loader would take, itself included."""
    if not ROOT:
        command = ["ldd", program]
    elif LOADER.encode() in program.read_bytes()[:4096]:
        command = ["qemu-aarch64-static", "-L", ROOT, ROOT / LOADER.lstrip("/"), "--list", program]
    else:  # static
        return []
    listing = subprocess.run(command, capture_output=True, text=True, check=True,
                             env={**os.environ, "LD_LIBRARY_PATH": str(library_path)}).stdout
    words = [word for line in listing.splitlines() for word in line.split() if word.startswith("/")]
    return [pathlib.Path(word) for word in words]


def on_host(file: pathlib.Path) -> pathlib.Path:
    """Where a library is that the loader names."""
    return ROOT / file.relative_to("/") if ROOT and (ROOT / file.relative_to("/")).exists() else file


class Initramfs:
    """A directory that becomes the archive."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.base = env.base_dir(env.PYTHON_BASE)

    def add(self, source: pathlib.Path, target: str, mode: int = 0o755) -> None:
        place = self.root / target.lstrip("/")
        if place.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.resolve(), place)
        place.chmod(mode)

    def write(self, target: str, text: str, mode: int = 0o644) -> None:
        place = self.root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    def add_program(self, program: pathlib.Path, target: str = "") -> None:
        """With its libraries; EPICS Base's are in /epics/lib."""
        self.add(program, target or f"/bin/{program.name}")
        for library in shared_libraries(program, self.base / "lib"):
            inside = self.base.resolve() in library.resolve().parents
            self.add(on_host(library), f"/epics/lib/{library.name}" if inside else str(library))

    def add_ioc(self, database: str) -> None:
        """All that a real IOC and its clients need, and the shell functions that drive them."""
        self.add(BUSYBOX, "/bin/busybox")
        self.add_program(env.tool(f"ioc_launcher_{env.PYTHON_BASE}"), "/bin/ioc_launcher")
        self.add_program(env.tool("ca_flood"))
        for dbd in (self.base / "dbd").glob("*.dbd"):
            self.add(dbd, f"/epics/dbd/{dbd.name}", 0o644)
        self.write("/test.db", database)
        self.write("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n")
        self.write("/etc/hosts", "127.0.0.1 localhost\n")
        self.add(VM_DIR / "guest_lib.sh", "/guest_lib.sh", 0o644)

    def add_script(self, script: str, target: str, settings: dict[str, int | str]) -> None:
        lines = (VM_DIR / script).read_text().splitlines()
        lines[1:1] = [f"{name}={value}" for name, value in {**settings, "TELL": PROCESSOR.serial}.items()]
        self.write(target, "\n".join(lines) + "\n", 0o755)

    def pack(self, archive: pathlib.Path) -> pathlib.Path:
        for directory in ("proc", "sys", "dev", "tmp"):
            (self.root / directory).mkdir(exist_ok=True)
        names = "\0".join(str(p.relative_to(self.root)) for p in sorted(self.root.rglob("*")))
        with archive.open("wb") as out:
            subprocess.run([HOST_BUSYBOX, "cpio", "-o", "-0", "-H", "newc"], input=names.encode(), stdout=out,
                           stderr=subprocess.DEVNULL, cwd=self.root, check=True)
        return archive


def boot(kernel: pathlib.Path, initramfs: pathlib.Path, directory: pathlib.Path,
         limit: int = BOOT_LIMIT, parameters: str = "") -> dict[str, str]:
    """Reports of the scripts inside: name of the fact -> its text. Fails when they did not come to their end."""
    console, told = directory / "console.log", directory / "told.log"
    # One host thread runs both CPUs in turn: with a thread for each, a CPU may meet the breakpoint of a code
    # patch that the other has just finished, and the kernel, which no longer knows it, panics. Nor does the kernel check
    # that its timer ticks: it gives the emulation no time for that on a busy host.
    command = [*PROCESSOR.qemu, "-accel", "tcg,thread=single", "-m", "1024", "-smp", "2", "-nodefaults",
               "-no-reboot", "-display", "none", "-kernel", kernel, "-initrd", initramfs,
               "-append", f"console={PROCESSOR.console} panic=-1 quiet no_timer_check {parameters}", "-serial", f"file:{console}"]
    command += (["-device", "pci-serial,chardev=told", "-chardev", f"file,id=told,path={told}"] if ROOT
                else ["-serial", f"file:{told}"])
    try:
        subprocess.run(command, timeout=limit, check=True, stdin=subprocess.DEVNULL)
        problem = "ended"
    except subprocess.TimeoutExpired:
        problem = f"was still running after {limit} s"
    facts: dict[str, str] = {}
    name = ""
    for line in told.read_text(errors="replace").replace("\r", "").splitlines():
        if line.startswith("@@ "):
            name = line[3:]
            facts[name] = ""
        elif name:
            facts[name] += line + "\n"
    assert "end" in facts, (f"the virtual machine {problem} before its test was done\n--- told:\n"
                            f"{told.read_text(errors='replace')[-4000:]}\n--- console:\n"
                            f"{console.read_text(errors='replace')[-4000:]}")
    assert "trouble" not in facts, facts["trouble"]
    return facts


def show(facts: dict[str, str]) -> None:
    """For who reads why a test failed."""
    print("\n".join(f"@@ {name}\n{text[:6000]}" for name, text in facts.items()))
