"""Boots a kernel under qemu's software emulation with an initramfs made of what the tests need."""
import pathlib
import shutil
import subprocess

from harness import env

VM_DIR = pathlib.Path(__file__).resolve().parent
BUSYBOX = pathlib.Path("/bin/busybox")
BOOT_LIMIT = 420  # seconds: emulation takes about one minute on an idle machine


def shared_libraries(program: pathlib.Path, library_path: pathlib.Path) -> list[pathlib.Path]:
    """The files that the dynamic loader would take, itself included."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True,
                             env={"LD_LIBRARY_PATH": str(library_path)}).stdout
    words = [word for line in listing.splitlines() for word in line.split() if word.startswith("/")]
    return [pathlib.Path(word) for word in words]


class Initramfs:
    """A directory that becomes the archive."""

    def __init__(self, root: pathlib.Path):
        self.root = root

    def add(self, source: pathlib.Path, target: str, mode: int = 0o755) -> None:
        place = self.root / target.lstrip("/")
        if place.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.resolve(), place)
        place.chmod(mode)

    def add_program(self, program: pathlib.Path, base_lib: pathlib.Path) -> None:
        self.add(program, f"/bin/{program.name}")
        for library in shared_libraries(program, base_lib):
            inside = base_lib.resolve() in library.resolve().parents
            self.add(library, f"/epics/lib/{library.name}" if inside else str(library))

    def pack(self, archive: pathlib.Path) -> None:
        for directory in ("proc", "sys", "dev", "tmp"):
            (self.root / directory).mkdir(exist_ok=True)
        names = "\0".join(str(p.relative_to(self.root)) for p in sorted(self.root.rglob("*")))
        with archive.open("wb") as out:
            subprocess.run([BUSYBOX, "cpio", "-o", "-0", "-H", "newc"], input=names.encode(), stdout=out,
                           stderr=subprocess.DEVNULL, cwd=self.root, check=True)


def make_initramfs(directory: pathlib.Path, database: str, settings: dict[str, int]) -> pathlib.Path:
    base = env.base_dir(env.PYTHON_BASE)
    tree = Initramfs(directory / "root")
    tree.add(BUSYBOX, "/bin/busybox")
    tree.add_program(env.exporter_binary(), base / "lib")
    launcher = env.tool(f"ioc_launcher_{env.PYTHON_BASE}")
    tree.add_program(launcher, base / "lib")
    (tree.root / "bin" / launcher.name).rename(tree.root / "bin" / "ioc_launcher")
    tree.add_program(env.tool("ca_flood"), base / "lib")
    for dbd in (base / "dbd").glob("*.dbd"):
        tree.add(dbd, f"/epics/dbd/{dbd.name}", 0o644)
    for name, text in (("etc/passwd", "root:x:0:0:root:/:/bin/sh\n"), ("etc/hosts", "127.0.0.1 localhost\n"),
                       ("test.db", database)):
        (tree.root / name).parent.mkdir(exist_ok=True)
        (tree.root / name).write_text(text)
    lines = (VM_DIR / "guest.sh").read_text().splitlines()
    lines[1:1] = [f"{name}={value}" for name, value in settings.items()]
    init = tree.root / "init"
    init.write_text("\n".join(lines) + "\n")
    init.chmod(0o755)
    archive = directory / "initramfs.cpio"
    tree.pack(archive)
    return archive


def boot(kernel: pathlib.Path, initramfs: pathlib.Path, directory: pathlib.Path) -> dict[str, str]:
    """What guest.sh told: name of the fact -> its text. Fails when it did not come to its end."""
    console, told = directory / "console.log", directory / "told.log"
    # One host thread runs both CPUs in turn: with a thread for each, a CPU may meet the breakpoint of a code
    # patch that the other has just finished, and the kernel, which no longer knows it, panics.
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-m", "1024", "-smp", "2", "-nodefaults",
               "-no-reboot", "-display", "none", "-kernel", kernel, "-initrd", initramfs,
               "-append", "console=ttyS0 panic=-1 quiet",
               "-serial", f"file:{console}", "-serial", f"file:{told}"]
    try:
        subprocess.run(command, timeout=BOOT_LIMIT, check=True, stdin=subprocess.DEVNULL)
        problem = "ended"
    except subprocess.TimeoutExpired:
        problem = f"was still running after {BOOT_LIMIT} s"
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
