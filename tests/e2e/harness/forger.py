"""TCP segments that no TCP has sent; and what a true connection there has sent."""
import contextlib
import ctypes
import os
import socket
import struct
from typing import NamedTuple

_libc = ctypes.CDLL(None, use_errno=True)
ETH_P_ALL = 3  # with any other, what this side sends is not heard
FIN, SYN, RST, PUSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


@contextlib.contextmanager
def inside(pid: int):
    """Sockets that are made here belong to the network namespace of the process."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        assert _libc.setns(other, 0) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert _libc.setns(own, 0) == 0, os.strerror(ctypes.get_errno())
        os.close(own)
        os.close(other)


class Place(NamedTuple):
    """Where a connection is: the numbers of what each side sends next."""
    client: int
    server: int


def _sum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Forger:
    """Sends to one server, with any numbers. Made inside the client's namespace, before the connection that it looks at."""

    def __init__(self, source: str, server: str, port: int, device: str):
        self._source, self._server, self._port = socket.inet_aton(source), socket.inet_aton(server), port
        self._raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self._frames = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._device = device
        self._heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        self._heard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        self._heard.setblocking(False)
        self._places: dict[int, list[int]] = {}

    def place(self, client_port: int) -> Place:
        with contextlib.suppress(BlockingIOError):
            while True:
                self._hear(self._heard.recv(1 << 17))
        assert all(self._places[client_port]), self._places
        return Place(*self._places[client_port])

    def _hear(self, packet: bytes) -> None:
        start = (packet[0] & 15) * 4
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        source, destination, seq, _, offset, flags = struct.unpack_from(">HHIIBB", packet, start)
        length = struct.unpack_from(">H", packet, 2)[0] - start - (offset >> 4) * 4
        end = (seq + length + bool(flags & SYN) + bool(flags & FIN)) & 0xFFFFFFFF
        if flags & RST or self._port not in (source, destination):
            return
        to_server = destination == self._port
        numbers = self._places.setdefault(source if to_server else destination, [0, 0])
        if flags & SYN or (end - numbers[not to_server]) & 0xFFFFFFFF < 1 << 31:
            numbers[not to_server] = end

    def send(self, client_port: int, seq: int, ack: int, payload: bytes = b"", words: int = 5, broadcast: bool = False,
             urgent: bool = False) -> None:
        """`words`: the length of the header, as it says; `urgent`: its first byte is."""
        header = struct.pack(">HHIIBBHHH", client_port, self._port, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, words << 4,
                             PUSH | ACK | (URG if urgent else 0), 0xFFFF, 0, int(urgent))
        pseudo = self._source + self._server + struct.pack(">HH", socket.IPPROTO_TCP, len(header) + len(payload))
        segment = header[:16] + struct.pack(">H", ~_sum(pseudo + header + payload) & 0xFFFF) + header[18:] + payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 1, 0, 64, socket.IPPROTO_TCP, 0, self._source,
                         self._server)
        ip = ip[:10] + struct.pack(">H", ~_sum(ip) & 0xFFFF) + ip[12:]
        if broadcast:
            self._frames.sendto(ip + segment, (self._device, 0x0800, 0, 0, b"\xff" * 6))
        else:
            self._raw.sendto(ip + segment, (socket.inet_ntoa(self._server), 0))

    def kill(self) -> None:
        for one in (self._raw, self._frames, self._heard):
            one.close()

    name = "forger"

    def describe(self) -> str:
        return f"forger: {self._places}"
