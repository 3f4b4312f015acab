"""A Channel Access circuit of bytes that no proper client sends."""
import socket
import struct
from typing import Callable, NamedTuple

from .raw_client import (CREATE_CHAN, CLIENT_NAME, DOUBLE, ECHO, ERROR, HOST_NAME, READ_NOTIFY, VERSION, WRITE,
                         WRITE_NOTIFY)


class Message(NamedTuple):
    command: int
    kind: int
    count: int
    p1: int
    p2: int
    payload: bytes


def message(command: int, kind: int = 0, count: int = 0, p1: int = 0, p2: int = 0, payload: bytes = b"",
            size: int | None = None) -> bytes:
    """`size`: what the header says, instead of the length of the padded payload."""
    payload += b"\0" * (-len(payload) % 8)
    return struct.pack(">HHHHII", command, len(payload) if size is None else size, kind, count, p1, p2) + payload


def long_message(command: int, kind: int, count: int, p1: int, p2: int, payload: bytes = b"", size: int | None = None,
                 short_count: int = 0) -> bytes:
    """With the header of 24 bytes; `short_count` stands where a short header has its count."""
    start = message(command, kind, short_count, p1, p2, size=0xFFFF)
    return start + struct.pack(">II", len(payload) if size is None else size, count) + payload


def version(minor: int = 13) -> bytes:
    return message(VERSION, count=minor)


def host_name(name: str) -> bytes:
    return message(HOST_NAME, payload=name.encode() + b"\0")


def client_name(name: str) -> bytes:
    return message(CLIENT_NAME, payload=name.encode() + b"\0")


def create(cid: int, name: str | bytes, minor: int = 13) -> bytes:
    return message(CREATE_CHAN, p1=cid, p2=minor, payload=name.encode() + b"\0" if isinstance(name, str) else name)


def write(sid: int, ioid: int = 0, value: float = 1.0) -> bytes:
    return message(WRITE, DOUBLE, 1, sid, ioid, struct.pack(">d", value))


def write_notify(sid: int, ioid: int, value: float = 1.0) -> bytes:
    return message(WRITE_NOTIFY, DOUBLE, 1, sid, ioid, struct.pack(">d", value))


class Wire:
    """One TCP connection to a server: bytes out, messages in."""

    name = "wire"

    def __init__(self, port: int, address: str = "127.0.0.1"):
        self.received: list[Message] = []
        self.sent_bytes = 0
        self._buffer = b""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.settimeout(60)
        self._socket.connect((address, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, *parts: bytes) -> "Wire":
        """All in one segment, when the path takes it."""
        data = b"".join(parts)
        self._socket.sendall(data)
        self.sent_bytes += len(data)
        return self

    def send_urgent(self, byte: bytes) -> None:
        self._socket.send(byte, socket.MSG_OOB)

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def introduce(self, user: str, host: str = "laptop") -> "Wire":
        return self.send(version(), host_name(host), client_name(user))

    def open(self, *names: str) -> list[int]:
        """The SIDs of new channels."""
        before = len(self.all_of(CREATE_CHAN))
        self.send(*(create(1000 + before + i, name) for i, name in enumerate(names)))
        self.wait(lambda: len(self.all_of(CREATE_CHAN)) == before + len(names))
        return [one.p2 for one in self.all_of(CREATE_CHAN)[before:]]

    def settle(self, sid: int) -> None:
        """When it returns, the server has done all that was sent before."""
        ioid = 0x7000_0000 + len(self.received)
        self.send(message(READ_NOTIFY, DOUBLE, 1, sid, ioid))
        self.wait(lambda: any(one.p2 == ioid for one in self.all_of(READ_NOTIFY)))

    def read_headers(self, count: int) -> list[tuple[int, ...]]:
        """The next answers, of which there are many, and none has a payload."""
        while len(self._buffer) < 16 * count:
            data = self._socket.recv(1 << 20)
            assert data, "the server closed the circuit"
            self._buffer += data
        answers, self._buffer = self._buffer[:16 * count], self._buffer[16 * count:]
        return list(struct.iter_unpack(">HHHHII", answers))

    def all_of(self, command: int) -> list[Message]:
        return [one for one in self.received if one.command == command]

    def wait(self, done: Callable[[], bool]) -> None:
        while not done():
            assert self._read(), f"the server closed the circuit; it had sent {self.received}"

    def wait_closed(self) -> None:
        try:
            while self._read():
                pass
        except ConnectionResetError:
            pass

    def kill(self) -> None:
        self._socket.close()

    def describe(self) -> str:
        return f"wire: {self.sent_bytes} bytes sent, received {self.received[-20:]}"

    def _read(self) -> bool:
        data = self._socket.recv(65536)
        self._buffer += data
        while len(self._buffer) >= 16:
            command, size, kind, count, p1, p2 = struct.unpack_from(">HHHHII", self._buffer)
            if len(self._buffer) < 16 + size:
                break
            self.received.append(Message(command, kind, count, p1, p2, self._buffer[16:16 + size]))
            self._buffer = self._buffer[16 + size:]
        return bool(data)


__all__ = ["Wire", "message", "long_message", "version", "host_name", "client_name", "create", "write", "write_notify",
           "ECHO", "ERROR", "CREATE_CHAN", "WRITE", "WRITE_NOTIFY"]
