"""Random Channel Access conversations, made and decoded by caproto's own classes."""
import random
from collections import Counter

import caproto as ca
from caproto import _commands as commands

TO_SERVER, TO_CLIENT = "S", "C"
PLAIN_TYPES = {0: b"", 1: "h", 2: "f", 3: "h", 4: "b", 5: "i", 6: "d"}
ELEMENT_BYTES = {1: 2, 2: 4, 3: 2, 4: 1, 5: 4, 6: 8}


class Conversation:
    """Turns of bytes, [(direction, bytes)]: what a client sends stands before what answers it."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.turns: list[tuple[str, bytes]] = []
        self._channels: dict[int, tuple[int, str]] = {}  # CID -> SID, name
        self._subscriptions: dict[int, int] = {}
        self._next_cid, self._next_sid, self._next_ioid = 1, self.random.randrange(1, 1000), 1
        self._send(TO_SERVER, commands.VersionRequest(self.random.randrange(0, 99), 13))
        self._send(TO_CLIENT, commands.VersionResponse(13))
        if self.random.random() < 0.9:
            self._send(TO_SERVER, commands.HostNameRequest(f"console-{self.random.randrange(100)}"))
            self._send(TO_SERVER, commands.ClientNameRequest(self.random.choice(["operator", "x" * 60, "root"])))
        for _ in range(self.random.randrange(5, 60)):
            self._one()

    def _send(self, direction: str, command) -> None:
        self.turns.append((direction, bytes(command)))

    def _one(self) -> None:
        actions = [self._create] if not self._channels else [
            self._create, self._write, self._write, self._write, self._write_notify, self._monitor, self._get,
            self._clear, self._disconnect, self._echo]
        self.random.choice(actions)()

    def _pick(self) -> tuple[int, int]:
        cid = self.random.choice(list(self._channels))
        return cid, self._channels[cid][0]

    def _create(self) -> None:
        cid, self._next_cid = self._next_cid, self._next_cid + 1
        name = f"DEV:{self.random.randrange(10000)}" + self.random.choice(
            ["", ".VAL", ".VAL$", ":LONG" * 9, '.VAL{"dbnd":{"abs":1.5}}'])
        self._send(TO_SERVER, commands.CreateChanRequest(name, cid, 13))
        if self.random.random() < 0.1:
            self._send(TO_CLIENT, commands.CreateChFailResponse(cid))
            return
        sid, self._next_sid = self._next_sid, self._next_sid + self.random.randrange(1, 4)
        count = self.random.choice([1, 1, 100, 70000])
        self._send(TO_CLIENT, commands.AccessRightsResponse(cid, self.random.randrange(4)))
        self._send(TO_CLIENT, commands.CreateChanResponse(ca.ChannelType(6), count, cid, sid))
        self._channels[cid] = (sid, name)

    def _value(self):
        kind = self.random.randrange(7)
        count = self.random.choices([1, 2, 7, 1000, 9000, 70000], [60, 20, 10, 7, 2, 1])[0]
        if kind == 0:
            count = min(count, 7)
            return kind, count, [b"text%d" % i for i in range(count)]
        return kind, count, self.random.randbytes(count * ELEMENT_BYTES[kind])

    def _put(self, request) -> tuple[int, int]:
        _, sid = self._pick()
        kind, count, data = self._value()
        ioid, self._next_ioid = self._next_ioid, self._next_ioid + 1
        self._send(TO_SERVER, request(data, ca.ChannelType(kind), count, sid, ioid))
        return kind, ioid

    def _write(self) -> None:
        for _ in range(self.random.choice([1, 1, 5, 40])):
            self._put(commands.WriteRequest)

    def _write_notify(self) -> None:
        kind, ioid = self._put(commands.WriteNotifyRequest)
        status = self.random.choice([ca.CAStatus.ECA_NORMAL, ca.CAStatus.ECA_PUTFAIL])
        self._send(TO_CLIENT, commands.WriteNotifyResponse(ca.ChannelType(kind), 1, status, ioid))

    def _monitor(self) -> None:
        _, sid = self._pick()
        self._next_ioid += 1
        self._send(TO_SERVER, commands.EventAddRequest(ca.ChannelType(20), 1, sid, self._next_ioid, 0, 0, 0, 5))

    def _get(self) -> None:
        _, sid = self._pick()
        self._next_ioid += 1
        self._send(TO_SERVER, commands.ReadNotifyRequest(ca.ChannelType(6), 1, sid, self._next_ioid))
        count = self.random.choice([1, 100, 1000, 9000])
        self._send(TO_CLIENT, commands.ReadNotifyResponse(self.random.randbytes(8 * count), ca.ChannelType(6), count,
                                                          ca.CAStatus.ECA_NORMAL, self._next_ioid))

    def _clear(self) -> None:
        cid, sid = self._pick()
        self._send(TO_SERVER, commands.ClearChannelRequest(sid, cid))
        self._send(TO_CLIENT, commands.ClearChannelResponse(sid, cid))
        del self._channels[cid]

    def _disconnect(self) -> None:
        if self.random.random() < 0.3:
            cid, _ = self._pick()
            self._send(TO_CLIENT, commands.ServerDisconnResponse(cid))
            del self._channels[cid]

    def _echo(self) -> None:
        self._send(TO_SERVER, commands.EchoRequest())
        self._send(TO_CLIENT, commands.EchoResponse())

    def segments(self) -> list[tuple[str, bytes]]:
        """The turns as TCP could cut them: several in a segment, a message in several segments."""
        long = sum(len(data) for _, data in self.turns) > 100_000
        longest = self.random.choice([1 << 16, 1448] if long else [1 << 16, 1448, 40, 7])
        cut: list[tuple[str, bytes]] = []
        waiting = {TO_SERVER: b"", TO_CLIENT: b""}

        def flush(direction: str) -> None:
            data, waiting[direction] = waiting[direction], b""
            while data:
                size = self.random.randint(1, longest)
                cut.append((direction, data[:size]))
                data = data[size:]

        for direction, data in self.turns:
            other = TO_CLIENT if direction == TO_SERVER else TO_SERVER
            if waiting[other]:  # an answer does not overtake its request
                flush(other)
            waiting[direction] += data
        flush(TO_SERVER)
        flush(TO_CLIENT)
        return cut


def decode(turns: list[tuple[str, bytes]]) -> list[str]:
    """caproto's reading of it, as tests/tools/ca_decode.cpp prints it."""
    roles = {TO_SERVER: ca.CLIENT, TO_CLIENT: ca.SERVER}
    user = host = ""
    asked: dict[int, str] = {}
    sids: dict[int, int] = {}
    names: dict[int, str] = {}
    puts: Counter = Counter()
    for direction, data in turns:
        rest, command, needed = commands.read_from_bytestream(bytearray(data), roles[direction])
        assert not rest and not needed, command
        match command:
            case commands.ClientNameRequest():
                user = command.name
            case commands.HostNameRequest():
                host = command.name
            case commands.CreateChanRequest():
                asked[command.cid] = command.name
            case commands.CreateChanResponse():
                sids[command.cid] = command.sid
                names[command.sid] = asked[command.cid]
            case commands.ClearChannelRequest():
                names.pop(command.sid, None)
            case commands.ServerDisconnResponse():
                names.pop(sids[command.cid], None)
            case commands.WriteRequest():
                puts["write", names.get(command.sid, "?")] += 1
            case commands.WriteNotifyRequest():
                puts["write_notify", names.get(command.sid, "?")] += 1
    return [f"user {user}", f"host {host}",
            *(f"put {op} {name} {count}" for (op, name), count in sorted(puts.items())),
            *(f"open {name}" for name in sorted(names.values()))]
