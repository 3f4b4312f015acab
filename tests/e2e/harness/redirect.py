"""A rule of the kernel's packet filter in this network namespace: what comes for one TCP port goes to another place."""
import socket
import struct

_NETLINK_NETFILTER = 12
_NFNL_NFTABLES = 10
_BATCH_BEGIN, _BATCH_END = 16, 17
_NEWTABLE, _NEWCHAIN, _NEWRULE = 0, 3, 6
_REQUEST, _ACK, _CREATE = 1, 4, 0x400
_PREROUTING, _LOCAL_OUT = 0, 3
_DSTNAT = -100


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def _nest(kind: int, *attributes: bytes) -> bytes:
    return _attribute(kind | 0x8000, b"".join(attributes))


def _text(kind: int, text: str) -> bytes:
    return _attribute(kind, text.encode() + b"\0")


def _number(kind: int, number: int) -> bytes:
    return _attribute(kind, struct.pack(">i", number))


def _expression(name: str, *attributes: bytes) -> bytes:
    return _nest(1, _text(1, name), _nest(2, *attributes))


def _bytes_are(data: bytes) -> bytes:
    """Register 1 has them."""
    return _expression("cmp", _number(1, 1), _number(2, 0), _nest(3, _attribute(1, data)))


def _message(kind: int, sequence: int, body: bytes = b"", flags: int = 0, family: int = socket.AF_INET,
             resource: int = 0) -> bytes:
    body = struct.pack("=BBH", family, 0, socket.htons(resource)) + body
    return struct.pack("=IHHII", 16 + len(body), kind, _REQUEST | flags, sequence, 0) + body


def _load(register: int, data: bytes) -> bytes:
    return _expression("immediate", _number(1, register), _nest(2, _attribute(1, data)))


def redirect(port: int, to: int, address: str = "") -> bool:
    """To another port, of another address where there is one. Before all rules that are there. False: the kernel has no
    such rules."""
    subsystem = _NFNL_NFTABLES << 8
    rule = _nest(4, _expression("meta", _number(1, 1), _number(2, 16)), _bytes_are(bytes([socket.IPPROTO_TCP])),
                 _expression("payload", _number(1, 1), _number(2, 2), _number(3, 2), _number(4, 2)),
                 _bytes_are(struct.pack(">H", port)),
                 *([_load(1, socket.inet_aton(address)), _load(2, struct.pack(">H", to)),
                    _expression("nat", _number(1, 0x1), _number(2, socket.AF_INET), _number(3, 1), _number(5, 2))]
                   if address else [_load(1, struct.pack(">H", to)), _expression("redir", _number(1, 1))]))
    parts = [_message(_BATCH_BEGIN, 0, family=0, resource=_NFNL_NFTABLES),
             _message(subsystem | _NEWTABLE, 1, _text(1, "test"), _ACK | _CREATE)]
    for sequence, (chain, hook) in enumerate((("in", _PREROUTING), ("out", _LOCAL_OUT))):
        parts += [_message(subsystem | _NEWCHAIN, 2 + 2 * sequence,
                           _text(1, "test") + _text(3, chain) + _nest(4, _number(1, hook), _number(2, _DSTNAT)) +
                           _text(7, "nat"), _ACK | _CREATE),
                  _message(subsystem | _NEWRULE, 3 + 2 * sequence, _text(1, "test") + _text(2, chain) + rule,
                           _ACK | _CREATE)]
    parts.append(_message(_BATCH_END, 6, family=0, resource=_NFNL_NFTABLES))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as netlink:
        netlink.bind((0, 0))
        netlink.settimeout(60)
        netlink.send(b"".join(parts))
        answered: set[int] = set()
        while len(answered) < 5:
            data = netlink.recv(65536)
            while data:
                length, _, _, sequence, _ = struct.unpack_from("=IHHII", data)
                error, = struct.unpack_from("=i", data, 16)
                if error:
                    return False
                answered.add(sequence)
                data = data[(length + 3) & ~3:]
    return True
