"""Tests of what differs between processors, where they were built for another one: of machine code, of files and of the
programs in the kernel."""
import re

import machine
from harness import env

LIMIT = 1500  # seconds: five minutes on an idle machine
PROGRAMS = {"unit/elf": ["unit_elf"], "unit/iocs": ["unit_iocs"], "unit/kernel": ["unit_kernel"],
            "unit/records": ["unit_records"],
            "bpf": ["bpf_ca_server_probe", "bpf_pva_server_probe", "bpf_record_process"]}
# Programs that they run, and look for where they were built.
TARGETS = ["unit/iocs/discovery_target_ioc", "unit/iocs/discovery_target_plain", "unit/iocs/discovery_target_stripped",
           "unit/iocs/libdiscovery_target_lib.so", "bpf/fake_ioc", "unit/elf/librsrv_target_named.so",
           "unit/elf/librsrv_target_stripped.so", "unit/elf/librsrv_target_two_tables.so"]
# Simulations of millions of calls, which are arithmetic alone.
LEFT_OUT = ["Loads/*", "Histogram.*", "PutHistogram.*"]
# Before Linux 6.4 the kernel tells the memory of a table by its capacity, whatever it has taken.
NOT_BEFORE_6_4 = "*TheMetricIsAtLeastTheKernelsCountAndCloseToIt*"


def test_programs(series, tmp_path):
    kernel = machine.kernel_of(series)
    built = env.exporter_binary().parent / "tests"
    tree = machine.Initramfs(tmp_path / "root")
    tree.add(machine.BUSYBOX, "/bin/busybox")
    tree.add(machine.VM_DIR / "guest_lib.sh", "/guest_lib.sh", 0o644)
    names = []
    for folder, programs in PROGRAMS.items():
        for program in programs:
            tree.add_program(built / folder / program)
            names.append(program)
    for target in TARGETS:
        tree.add_program(built / target, str(built / target))
    tree.write("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n")
    tree.write("/etc/hosts", "127.0.0.1 localhost\n")
    release = tuple(int(part) for part in series.partition("-")[0].split("."))
    left_out = [*LEFT_OUT, *([NOT_BEFORE_6_4] if release < (6, 4) else [])]
    tree.add_script("guest_programs.sh", "/init",
                    {"PROGRAMS": f'"{" ".join(names)}"', "LEFT_OUT": f'"{":".join(left_out)}"'})
    facts = machine.boot(kernel, tree.pack(tmp_path / "initramfs.cpio"), tmp_path, LIMIT)
    machine.show(facts)

    assert facts["kernel"].startswith(series.partition("-")[0] + ".")
    assert facts["processor"].strip() == "aarch64"
    for name in names:
        assert facts[f"{name} status"].strip() == "0", facts[f"{name} failed"]
        assert int(re.search(r"PASSED  \] .*?(\d+) tests?", facts[f"{name} passed"])[1]) > 0
