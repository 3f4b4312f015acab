"""A FUSE file system that never answers one kind of request. It has one file, "f", without content.

    silent_fs.py DIRECTORY REQUEST USER    REQUEST: read, open or getattr; USER: whose it is said to be
"""
import ctypes
import errno
import os
import struct
import sys

# linux/fuse.h
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, INTERRUPT = 1, 2, 3, 14, 15, 17, 18, 25, 26, 36
SIZE = 64 << 20
ROOT, FILE = 1, 2


def attributes(node: int) -> bytes:
    mode, size = (0o040755, 0) if node == ROOT else (0o100755, SIZE)
    return struct.pack("<6Q10I", node, size, size >> 9, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(operation: int, node: int) -> bytes | int:
    """The answer's body, or an errno. Attributes are valid for no time: each stat(2) asks for them."""
    if operation == INIT:
        return struct.pack("<IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, *[0] * 7)
    if operation == LOOKUP:
        return struct.pack("<QQQQII", FILE, 0, 3600, 0, 0, 0) + attributes(FILE)
    if operation == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attributes(node)
    if operation == OPEN:
        return struct.pack("<QII", 0, 0, 0)
    if operation in (FLUSH, RELEASE):
        return b""
    return errno.ENOSYS


def main() -> None:
    directory, silent, user = sys.argv[1:]
    never = {"read": READ, "open": OPEN, "getattr": GETATTR}[silent]
    fuse = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fuse},rootmode=40000,user_id={user},group_id=0,allow_other"
    if libc.mount(b"silent", directory.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("@mounted", flush=True)
    talks = True  # until its file is mapped
    while True:
        request = os.read(fuse, 1 << 18)
        _, operation, unique, node = struct.unpack_from("<IIQQ", request)
        if operation in (FORGET, INTERRUPT):
            continue
        if operation == never and (node == FILE and (operation == READ or not talks)):
            print("@asked", flush=True)
            continue
        body = answer(operation, node)
        error, body = (-body, b"") if isinstance(body, int) else (0, body)
        os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        talks = talks and operation != OPEN


if __name__ == "__main__":
    main()
