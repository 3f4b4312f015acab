"""Segments of somebody else's connection, with a checksum that no kernel takes."""
import socket
import struct

ETH_P_IP = 0x0800
PSH_ACK = 0x18


class Eavesdropper:
    """Sees what passes on the loopback interface, and says where a client's stream stands."""

    def __init__(self):
        self._packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self._packets.bind(("lo", ETH_P_IP))
        self._packets.settimeout(10)

    def position(self, client_port: int, server_port: int, send) -> tuple[int, int]:
        """(sequence number that comes next, acknowledgement) after `send` has sent something."""
        send()
        while True:
            packet = self._packets.recv(65536)
            head = (packet[0] & 15) * 4
            if packet[9] != socket.IPPROTO_TCP:
                continue
            source, target, sequence, acknowledged, offset = struct.unpack_from(">HHIIB", packet, head)
            size = int.from_bytes(packet[2:4], "big") - head - (offset >> 4) * 4
            if (source, target) == (client_port, server_port) and size > 0:
                return (sequence + size) & 0xFFFFFFFF, acknowledged

    def close(self) -> None:
        self._packets.close()


def send_forged(client_port: int, server_port: int, sequence: int, acknowledged: int, data: bytes) -> None:
    tcp = struct.pack(">HHIIBBHHH", client_port, server_port, sequence, acknowledged, 5 << 4, PSH_ACK, 512, 0xBAD, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + len(data), 0, 0, 64, socket.IPPROTO_TCP, 0,
                     socket.inet_aton("127.0.0.1"), socket.inet_aton("127.0.0.1"))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(ip + tcp + data, ("127.0.0.1", 0))
