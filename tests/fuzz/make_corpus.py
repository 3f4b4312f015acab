"""Writes the seeds of the fuzz targets: circuits (ca_stream) and datagrams (ca_datagram) as real programs send them.

    make_corpus.py tests/fuzz/corpus     (they are checked in; run it again when an input format changes)
"""
import pathlib
import struct
import sys


def message(command, payload=b"", kind=0, count=0, p1=0, p2=0):
    payload += b"\0" * (-len(payload) % 8)
    if len(payload) >= 0xFFFF or count >= 0xFFFF:
        return struct.pack(">HHHHIIII", command, 0xFFFF, kind, 0, p1, p2, len(payload), count) + payload
    return struct.pack(">HHHHII", command, len(payload), kind, count, p1, p2) + payload


def hello(user=b"operator\0", host=b"console-1\0"):
    return message(0, kind=0, count=13) + message(21, host) + message(20, user)


def create(cid, name):
    return message(18, name + b"\0", p1=cid, p2=13)


def write(sid, value=b"\x3f\xf0" + b"\0" * 6, kind=6, count=1, command=4, ioid=1):
    return message(command, value, kind, count, sid, ioid)


def created(cid, sid):
    return message(22, p1=cid, p2=3) + message(18, kind=6, count=1, p1=cid, p2=sid)


CLIENT = {
    "puts": hello() + create(1, b"PS:1:SP") + write(5) * 9 + write(5, command=19, ioid=7),
    "strings": hello() + create(1, b"TEXT.DESC") + write(5, b"on\0", 0) + write(5, b"x" * 40, 0) * 3,
    "array": hello() + create(1, b"WF") + write(5, b"\x40" * 800, 6, 100) + write(5) * 3,
    "long_header": hello() + create(1, b"WF") + write(5, b"\1" * 70000, 4, 70000) + write(5),
    "monitors": hello() + create(1, b"A") + message(1, b"\0" * 16, 20, 1, 5, 1) + message(2, b"", 20, 1, 5, 1)
                + message(8) + message(9) + message(15, b"", 20, 1, 5, 3) + message(23) + message(12, p1=5, p2=1),
    "long_name": hello() + create(1, b'REC.VAL${"dbnd":{"abs":1.5},"arr":{"s":1,"e":-1}}' * 6) + write(5),
    "not_ca": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "empty_names": hello(b"\0", b"\0") + create(1, b"") + write(5),
    "search_over_tcp": message(0, count=13) + message(6, b"PS:1:SP\0", 5, 13, 1, 1) + hello(),
}
SERVER = {
    "answers": message(0, count=13) + created(1, 5) + message(19, b"", 6, 1, 1, 7) + message(1, b"\0" * 24, 20, 1, 1, 1),
    "refused": message(0, count=13) + message(26, p1=1) + message(27, p1=2)
               + message(11, message(4, b"", 6, 1, 5, 1) + b"write access denied\0", p1=1, p2=376),
}


def search(cid, name, kind=5):
    return message(6, name + b"\0", kind, 13, cid, cid)


TO_SERVER, FROM_SERVER = 1, 2
DATAGRAMS = {
    "searches": (TO_SERVER, message(0, kind=1, count=13) + b"".join(
        search(cid, b"PS:%d:SP" % cid) for cid in range(40))),
    "long_names": (TO_SERVER, message(0, count=13) + search(1, b"X" * 95) + search(2, b"Y" * 96) + search(3, b"Z" * 250)),
    "empty_name": (TO_SERVER, message(0, count=13) + search(1, b"") + message(6, b"", 5, 13, 2, 2)),
    "extended": (TO_SERVER, message(6, b"A" * 7, 10, 70000, 3, 3)),
    "answers": (FROM_SERVER, message(0, count=13) + message(6, struct.pack(">H", 13), 5064, 0, 0xFFFFFFFF, 1)
                + message(6, b"", 5066, 0, 0x7F000001, 2) + message(14, b"", 10, 13, 3, 3)),
    "beacon": (TO_SERVER, message(13, b"", 13, 5064, 17, 0x7F000001)),
    "repeater": (TO_SERVER, message(24, p2=0x7F000001) + message(17, p2=0x7F000001) + message(23)),
    "not_ca": (TO_SERVER, b"M-SEARCH * HTTP/1.1\r\n\r\n"),
}


def write_datagrams(directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, (flags, datagram) in DATAGRAMS.items():
        (directory / name).write_bytes(bytes([flags]) + datagram)


def write_circuits(directory: pathlib.Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for flags, conversations in ((0, CLIENT), (1, SERVER)):
        for name, stream in conversations.items():
            (directory / name).write_bytes(bytes([flags, 17]) + stream)
    (directory / "joined").write_bytes(bytes([2, 17]) + write(5) * 20)


def main() -> None:
    write_circuits(pathlib.Path(sys.argv[1]) / "ca_stream")
    write_datagrams(pathlib.Path(sys.argv[1]) / "ca_datagram")


if __name__ == "__main__":
    main()
