"""The TCP segments of a server's circuits on loopback, as they travel."""
import socket
import struct
import subprocess
import threading
from typing import NamedTuple

from . import env

TO_SERVER, TO_CLIENT = "S", "C"
_ETH_P_ALL, _ETH_P_IP, _PACKET_OUTGOING, _SO_RCVBUFFORCE = 3, 0x0800, 4, 33
_TCP, _UDP = 6, 17


class Segment(NamedTuple):
    direction: str
    data: bytes


class Recording:
    """Records from its start on. `circuits` ends it: the segments of each, in the order in which the circuits began."""

    def __init__(self, port: int):
        self._port = port
        self._marker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._marker.bind(("127.0.0.1", 0))
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 64 << 20)
        self._socket.bind(("lo", _ETH_P_ALL))
        self._next: dict[tuple[int, str], int] = {}
        self._circuits: dict[int, list[Segment]] = {}
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def circuits(self) -> list[list[Segment]]:
        self._marker.sendto(b"end", self._marker.getsockname())
        self._thread.join(60)
        assert not self._thread.is_alive()
        self._socket.close()
        return list(self._circuits.values())

    def _read(self) -> None:
        while True:
            packet, address = self._socket.recvfrom(1 << 17)
            if address[1:3] != (_ETH_P_IP, _PACKET_OUTGOING):
                continue  # each packet comes twice
            header = (packet[0] & 15) * 4
            source, destination = struct.unpack_from(">HH", packet, header)
            if packet[9] == _UDP and source == self._marker.getsockname()[1]:
                return
            if packet[9] == _TCP and self._port in (source, destination):
                self._add(source, destination, packet[header:])

    def _add(self, source: int, destination: int, tcp: bytes) -> None:
        sequence, flags, data = struct.unpack_from(">I", tcp, 4)[0], tcp[13], tcp[(tcp[12] >> 4) * 4:]
        direction, client = (TO_SERVER, source) if destination == self._port else (TO_CLIENT, destination)
        key = client, direction
        if flags & 2:
            self._next[key] = sequence + 1
        if not data:
            return
        if key not in self._next:  # open before
            self._next[key] = sequence
        behind = (self._next[key] - sequence) & 0xFFFFFFFF
        assert behind < 1 << 31, "the recording has missed a segment"
        if behind < len(data):
            self._circuits.setdefault(client, []).append(Segment(direction, data[behind:]))
            self._next[key] = (sequence + len(data)) & 0xFFFFFFFF


def decode_pva(circuits: list[list[Segment]], *options: str) -> list[list[str]]:
    """What tests/tools/pva_decode.cpp prints about each circuit."""
    lines = []
    for one in circuits:
        lines += [f"{segment.direction} {segment.data.hex()}" for segment in one] + ["."]
    run = subprocess.run([env.tool("pva_decode"), *options], input="\n".join(lines) + "\n", capture_output=True,
                         text=True, timeout=120, check=True)
    return [text.strip("\n").split("\n") for text in run.stdout.split("\n.\n")[:-1]]
