"""A host with systemd, an IOC and the files of the exporter's package, for virtual machines."""
import pathlib
import shutil

import pytest

import machine
from harness import env

FILES = machine.VM_DIR / "systemd"
PACKAGING = machine.VM_DIR.parent.parent / "packaging"
PROGRAM = "/usr/sbin/ioc_exporter"
DATABASE = """
record(ao,"VM:set"){field(FLNK,"VM:count")}
record(calc,"VM:count"){field(CALC,"VAL+1")}
"""
HOST_UNITS = ["basic.target", "sysinit.target", "multi-user.target", "local-fs.target", "network.target",
              "shutdown.target", "slices.target", "sockets.target", "systemd-journald.service",
              "systemd-journald.socket"]
HOST_UNIT_DIR, OUR_UNIT_DIR = "/lib/systemd/system", "/etc/systemd/system"
LINKS = {"default.target": f"{HOST_UNIT_DIR}/multi-user.target",
         "sysinit.target.wants/systemd-journald.service": f"{HOST_UNIT_DIR}/systemd-journald.service",
         "sockets.target.wants/systemd-journald.socket": f"{HOST_UNIT_DIR}/systemd-journald.socket"}


def new_host(root: pathlib.Path, started: list[pathlib.Path]) -> machine.Initramfs:
    """With units that are started beside the IOC's."""
    systemd = pathlib.Path("/lib/systemd")
    if not (systemd / "systemd").exists():
        pytest.skip("there is no /lib/systemd/systemd: scripts/install-deps.sh test installs it")
    tree = machine.Initramfs(root)
    # One /usr, as distributions have it.
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    tree.add_ioc(DATABASE)
    _add_systemd(tree, systemd, [FILES / "ioc.service", *started])
    _add_package(tree)
    tree.add_script("systemd/init.sh", "/init", {})
    return tree


def _add_systemd(tree: machine.Initramfs, systemd: pathlib.Path, started: list[pathlib.Path]) -> None:
    for program in ("systemd", "systemd-journald", "systemd-executor"):
        if (systemd / program).exists():
            tree.add_program(systemd / program, f"/lib/systemd/{program}")
    for unit in HOST_UNITS:
        tree.add(systemd / "system" / unit, f"{HOST_UNIT_DIR}/{unit}", 0o644)
    links = dict(LINKS)
    for unit in started:
        tree.add(unit, f"{OUR_UNIT_DIR}/{unit.name}", 0o644)
        links[f"multi-user.target.wants/{unit.name}"] = f"{OUR_UNIT_DIR}/{unit.name}"
    for name, target in links.items():
        link = tree.root / OUR_UNIT_DIR.lstrip("/") / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(target)
    # Programs that the driver, the package's postinst and the unit run, and busybox does not have.
    for program in ("systemctl", "journalctl", "useradd", "getent", "install"):
        found = shutil.which(program)
        assert found, f"this host has no {program}"
        tree.add_program(pathlib.Path(found))
    tree.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n")
    tree.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nepics:x:1000:1000::/home/epics:/bin/sh\n")
    tree.write("/etc/group", "root:x:0:\nepics:x:1000:\n")


def _add_package(tree: machine.Initramfs) -> None:
    """The files of the package, as its own CMakeLists.txt makes and places them."""
    tree.add_program(env.exporter_binary(), PROGRAM)
    unit = (PACKAGING / "ioc_exporter.service.in").read_text().replace("@IOC_EXPORTER_PROGRAM@", PROGRAM)
    assert f"ExecStart={PROGRAM} " in unit
    tree.write(f"{HOST_UNIT_DIR}/ioc_exporter.service", unit)
    tree.add(PACKAGING / "ioc_exporter.default", "/etc/default/ioc_exporter", 0o644)
    tree.add(PACKAGING / "debian/postinst", "/postinst")
