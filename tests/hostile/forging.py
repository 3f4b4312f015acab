"""Segments that a connection's own TCP does not send."""
import socket
import struct

ETH_P_IP = 0x0800
PSH_ACK, URG = 0x18, 0x20


class Eavesdropper:
    """Sees what passes on the loopback interface, and says where a client's stream stands."""

    def __init__(self):
        self._packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        self._packets.bind(("lo", ETH_P_IP))
        self._packets.settimeout(60)

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


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def mark_urgent(client_port: int, server_port: int, sequence: int, acknowledged: int, ahead: int) -> None:
    """The byte that comes after `ahead` others is urgent, and here it is already."""
    address = socket.inet_aton("127.0.0.1")
    tcp = struct.pack(">HHIIBBHHH", client_port, server_port, sequence + ahead & 0xFFFFFFFF, acknowledged, 5 << 4,
                      PSH_ACK | URG, 512, 0, 1) + b"!"
    checksum = ~_sum(address * 2 + struct.pack(">HH", socket.IPPROTO_TCP, len(tcp)) + tcp + b"\0") & 0xFFFF
    tcp = tcp[:16] + struct.pack(">H", checksum) + tcp[18:]
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, socket.IPPROTO_TCP, 0, address, address)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.sendto(ip + tcp, ("127.0.0.1", 0))
