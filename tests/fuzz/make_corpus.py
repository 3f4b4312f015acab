"""Writes the seeds of the fuzz targets: circuits (ca_stream, pva_stream) and datagrams (ca_datagram) as real programs send
them, small ELF files (elf_symbols), changes to an IOC's memory (ioc_memory), requests (http_pages), code (function_ends).

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
    "size_alone": hello() + create(1, b"WF") + (write(5)[:2] + b"\xff\xff" + write(5)[4:6] + b"\0\x4d" + write(5)[8:16]
                                                + struct.pack(">II", 8, 1) + b"\1" * 8) * 3 + write(5),
    "odd_size": hello() + create(1, b"A") + write(5) + write(5)[:3] + b"\x09" + write(5)[4:] + write(5) * 7,
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
CIRCUITS = {name: bytes([flags, 17]) + stream for flags, conversations in ((0, CLIENT), (1, SERVER))
            for name, stream in conversations.items()} | {"joined": bytes([2, 17]) + write(5) * 20}


class Pva:
    """Messages of PV Access in one byte order."""

    def __init__(self, order: str):
        self.order, self.flag = order, 0x80 if order == ">" else 0

    def pack(self, form: str, *values) -> bytes:
        return struct.pack(self.order + form, *values)

    def message(self, command, payload=b"", flags=0) -> bytes:
        return self.pack("BBBBI", 0xCA, 2, flags | self.flag, command, len(payload)) + payload

    def hello(self, method=b"ca", data=b"\x80\0\2\4user\x60\4host\x60\10operator\11console-1") -> bytes:
        return self.message(1, self.pack("IHH", 0x10000, 0x7FFF, 0) + bytes([len(method)]) + method + data)

    def names(self, *names: bytes) -> bytes:
        return self.pack("H", len(names)) + b"".join(
            self.pack("I", cid) + bytes([len(name)]) + name for cid, name in enumerate(names))

    def request(self, command, sub, data=b"", flags=0, sid=5, ioid=7) -> bytes:
        return self.message(command, self.pack("IIB", sid, ioid, sub) + data, flags)

    def put(self, command=11) -> bytes:
        return self.request(command, 8, b"\x80\0\0") + self.request(command, 0, b"\1\2" + b"\x3f" * 8) * 3

    def server(self) -> bytes:
        ok, refused = b"\xff", b"\2\2no\0"
        return (self.pack("BBBBI", 0xCA, 2, self.flag | 0x41, 2, 0)
                + self.message(1, self.pack("IH", 0x10000, 0x7FFF) + b"\1\2ca", 0x40) + self.message(9, ok, 0x40)
                + self.message(7, self.pack("II", 0, 5) + ok, 0x40)
                + self.message(7, self.pack("II", 1, 0xFFFFFFFF) + refused, 0x40)
                + self.message(11, self.pack("IB", 7, 8) + ok + b"\x80\0\0", 0x40)
                + self.message(11, self.pack("IB", 7, 0) + refused, 0x40) * 2
                + self.message(13, self.pack("IB", 8, 0) + b"\1\2" + b"\x3f" * 8, 0x40) * 2
                + self.message(8, self.pack("II", 5, 0), 0x40))


def pva_circuits() -> dict[str, bytes]:
    seeds = {}
    for name, b in (("little", Pva("<")), ("big", Pva(">"))):
        names = b.names(b"PS:1:SP", b"PS:2:SP", b"N" * 240)
        client = {
            "puts": b.hello() + b.message(7, names) + b.put() + b.put(12) + b.put(20) + b.message(8, b.pack("II", 5, 0)),
            "asks": b.hello() + b.request(11, 0x40) + b.request(13, 0x44) + b.request(10, 0x50)
            + b.message(15, b.pack("II", 5, 7)) + b.put(),
            "segments": b.hello(b"anonymous", b"\xff") + b.message(7, names[:14], 0x10) + b.message(7, names[14:], 0x20)
            + b.request(11, 0, b"\1" * 90, 0x10) + b.message(11, b"\xca" * 90, 0x30) + b.message(3, b"", 1)
            + b.message(11, b"", 0x20) + b.put(),
            "cut": b.hello() + b.message(7, names[:20], 0x10) + b.message(7, names[20:], 0x20) + b.message(11, b"\0", 0x10)
            + b.message(11, b"\0" * 9, 0x20) + b.put(),
            "malformed": b.hello() + b.message(7, names[:-1]) + b.put(),
            "identity": b.hello(data=b"\xfd\1\0\x80\0\2\4host\x60\4user\x60\1h\1u") + b.hello(data=b"\xfe\1\0") + b.put(),
        }
        seeds |= {f"{what}_{name}": bytes([0, 17]) + stream for what, stream in client.items()}
        seeds |= {f"server_{name}": bytes([1, 17]) + b.server(), f"joined_{name}": bytes([2, 17]) + b.put() * 3,
                  f"gaps_{name}": bytes([4, 17]) + client["puts"] * 4, f"lost_{name}": bytes([5, 17]) + b.server() * 3}
    return seeds


def section(name, kind, offset, size, link=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, size, link, 0, 1, entry)


def elf(symtab=True, version=b"EPICS R3.15.9"):
    """x86_64: one executable and one data segment, .dynsym, .symtab, their strings."""
    names = b"\0dbProcess\0pdbbase\0x\0"
    data = b"\x55\x5d\xc3" + b"\0" * 13 + b"\0" + version + b"\0"
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for name, info, value in ((1, 0x12, 0x1100), (11, 0x11, 0x2100), (19, 0x02, 0x1104)):
        symbols += struct.pack("<IBBHQQ", name, info, 0, 1, value, 8)
    start = 64 + 2 * 56
    parts = [data, names, symbols, names, symbols if symtab else b""]
    offsets = [start + sum(map(len, parts[:i])) for i in range(len(parts))]
    headers = [section(0, 0, 0, 0), section(1, 1, offsets[0], len(data)), section(1, 3, offsets[1], len(names)),
               section(1, 11, offsets[2], len(symbols), 2, 24), section(1, 3, offsets[3], len(names))]
    if symtab:
        headers.append(section(1, 2, offsets[4], len(symbols), 4, 24))
    body = b"".join(parts)
    head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, start + len(body), 0, 64,
                                                    56, 2, 64, len(headers), 2)
    loads = b"".join(struct.pack("<IIQQQQQQ", 1, flags, start, address, address, len(body), len(body), 4096)
                     for flags, address in ((5, 0x1100), (6, 0x2100)))
    return head + loads + body + b"".join(headers)


def elf_with_table(code):
    """A shared library without symbols: rsrv's table of TCP commands by relative relocations."""
    bad, handlers, at = 0x1000, iter(range(0x1040, 0x1800, 0x40)), 64 + 3 * 56
    table = [bad if command in (5, 7, 11, 13, 14, 16, 17, 22) else next(handlers) for command in range(28)]
    relocations = b"".join(struct.pack("<QQq", 0x3000 + 8 * i, 8, target) for i, target in enumerate(table))
    dynamic = struct.pack("<QQQQQQ", 7, 0x2000, 8, len(relocations), 0, 0)
    code = code.ljust(0x80 * 17, b"\xc3")
    head = b"\x7fELF\2\1\1" + b"\0" * 9 + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    loads = b"".join(struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, size, 8)
                     for kind, flags, offset, address, size in (
                         (1, 5, at, 0x1000, len(code)), (1, 6, at + len(code), 0x2000, len(relocations)),
                         (2, 6, at + len(code) + len(relocations), 0x2800, len(dynamic))))
    return head + loads + code + relocations + dynamic


def change(after, kind, size, where, value):
    """As ioc_memory_fuzz.cpp says."""
    return struct.pack("<BBHH", after, kind | size << 2, where, value)


ELF_FILES = {"whole": elf(), "stripped": elf(symtab=False), "new_base": elf(version=b"EPICS 7.0.10.1-DEV"),
             "cut": elf()[:300], "not_elf": b"#!/bin/sh\n",
             "table": elf_with_table(bytes.fromhex("be8e000000e8f6000000c3"))}
CHANGES = {"none": b"", "zeroes": change(0, 0, 8, 1000, 0), "circle": change(0, 1, 8, 2000, 1000) * 3,
           "later": change(9, 2, 4, 512, 0) + change(30, 3, 8, 900, 800), "counts": change(0, 0, 2, 40, 0x7fff)}
REQUESTS = {"text": b"record=%46%3Aone&format=text&ioc=ioc\0identity\0F:one\0ann\0console\0ioc",
            "hostile": b"pv=%zz&pv=%00+%ff\0gzip;q=x\0<b>\"'&\xff\xc0\n\\\0</td>\0<!--\0<script>",
            "page": b"\0\0PV\0\0\0ioc"}


# As function_ends_fuzz.cpp says: a byte of its own, then code of a function, as in the unit tests of function_ends.
CODE = {"jump": bytes.fromhex("00 534883ec1085ff7405ffd0eb01904883c4105bc3"),
        "loop": bytes.fromhex("00 85ff78fcc3"),
        "tail_call": bytes.fromhex("00 554889e5c9e900100000"),
        "frame": bytes.fromhex("00 554889e54883ec20ffd085c07405e800100000488d65f85bc9c3"),
        "cold": bytes.fromhex("48 85ff0f84f57e0000c3ffd0e90281ffff"),
        "arm64": bytes.fromhex("01 4000003400040094c0035fd6")}


def main() -> None:
    datagrams = {name: bytes([flags]) + datagram for name, (flags, datagram) in DATAGRAMS.items()}
    for target, seeds in (("ca_stream", CIRCUITS), ("ca_datagram", datagrams), ("pva_stream", pva_circuits()),
                          ("elf_symbols", ELF_FILES), ("ioc_memory", CHANGES), ("http_pages", REQUESTS), ("function_ends", CODE)):
        directory = pathlib.Path(sys.argv[1]) / target
        directory.mkdir(parents=True, exist_ok=True)
        for name, seed in seeds.items():
            (directory / name).write_bytes(seed)


if __name__ == "__main__":
    main()
