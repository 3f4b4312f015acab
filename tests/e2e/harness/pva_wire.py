"""A PV Access circuit of bytes, in either byte order."""
import socket
import struct
from typing import Callable, NamedTuple

VALIDATION, CREATE_CHANNEL, VALIDATED, PUT, DESTROY_REQUEST = 1, 7, 9, 11, 15
INIT, EXECUTE = 8, 0
BIG, LITTLE = ">", "<"
CONTROL, FROM_SERVER, BIG_ENDIAN = 0x01, 0x40, 0x80
FIRST, LAST, MIDDLE = 0x10, 0x20, 0x30


class Message(NamedTuple):
    flags: int
    command: int
    payload: bytes


class PvaWire:
    def __init__(self, port: int, order: str):
        self.order = order
        self.received: list[Message] = []
        self._buffer = b""
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def pack(self, form: str, *values) -> bytes:
        return struct.pack(self.order + form, *values)

    def message(self, command: int, payload: bytes, flags: int = 0) -> bytes:
        flags |= BIG_ENDIAN if self.order == BIG else 0
        return self.pack("BBBBI", 0xCA, 2, flags, command, len(payload)) + payload

    def send(self, *parts: bytes) -> None:
        self._socket.sendall(b"".join(parts))

    def introduce(self, user: str, host: str) -> None:
        """Also has the server answer in this byte order."""
        fields = b"\x02\x04user\x60\x04host\x60"
        names = b"".join(bytes([len(text)]) + text.encode() for text in (user, host))
        flags = BIG_ENDIAN if self.order == BIG else 0
        self.send(self.pack("BBBBI", 0xCA, 2, CONTROL | flags, 2, 0),
                  self.message(VALIDATION, self.pack("IHH", 0x10000, 0x7FFF, 0) + b"\x02ca\x80\0" + fields + names))
        self.wait(lambda: self.all_of(VALIDATED))

    def names(self, *names: str) -> bytes:
        """The payload of CREATE_CHANNEL; CIDs count from 0."""
        return self.pack("H", len(names)) + b"".join(
            self.pack("I", cid) + bytes([len(name)]) + name.encode() for cid, name in enumerate(names))

    def sids(self, count: int) -> dict[int, int]:
        """By CID, once there are so many answers."""
        self.wait(lambda: len(self.all_of(CREATE_CHANNEL)) == count)
        return dict(struct.unpack_from(self.order + "II", one.payload) for one in self.all_of(CREATE_CHANNEL))

    def request(self, sid: int, ioid: int, sub: int, data: bytes) -> bytes:
        return self.pack("IIB", sid, ioid, sub) + data

    def answers(self, ioid: int) -> list[Message]:
        return [one for one in self.all_of(PUT) if struct.unpack_from(self.order + "I", one.payload)[0] == ioid]

    def all_of(self, command: int) -> list[Message]:
        return [one for one in self.received if one.command == command and not one.flags & CONTROL]

    def wait(self, done: Callable[[], object]) -> None:
        while not done():
            data = self._socket.recv(65536)
            assert data, f"the server closed the circuit; it had sent {self.received}"
            self._buffer += data
            while len(self._buffer) >= 8:
                flags, command = self._buffer[2:4]
                size, = struct.unpack_from(BIG + "I" if flags & BIG_ENDIAN else LITTLE + "I", self._buffer, 4)
                size = 0 if flags & CONTROL else size
                if len(self._buffer) < 8 + size:
                    break
                self.received.append(Message(flags, command, self._buffer[8:8 + size]))
                self._buffer = self._buffer[8 + size:]

    def close(self) -> None:
        self._socket.close()
