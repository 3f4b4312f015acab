"""Runs a command that can attach no uprobe: perf_event_open() and bpf(BPF_LINK_CREATE) are refused to it."""
import ctypes
import os
import platform
import struct
import sys

PERF_EVENT_OPEN, BPF = {"x86_64": (298, 321), "aarch64": (241, 280)}[platform.machine()]
BPF_LINK_CREATE = 28
NUMBER, FIRST_ARGUMENT = 0, 16  # in struct seccomp_data
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # REFUSE: EPERM
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2

PROGRAM = [(LOAD, 0, 0, NUMBER), (IF_EQUAL, 4, 0, PERF_EVENT_OPEN), (IF_EQUAL, 0, 2, BPF),
           (LOAD, 0, 0, FIRST_ARGUMENT), (IF_EQUAL, 1, 0, BPF_LINK_CREATE), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]


def main() -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in PROGRAM))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(PROGRAM), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        sys.exit(f"set a seccomp filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
