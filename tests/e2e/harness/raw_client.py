"""A Channel Access client made of bytes: it sends exactly what it is told, and counts what it sent."""
import socket
import struct
from typing import Callable

VERSION, EVENT_ADD, EVENT_CANCEL, WRITE, EVENTS_OFF, EVENTS_ON = 0, 1, 2, 4, 8, 9
ERROR, CLEAR_CHANNEL, READ_NOTIFY, CREATE_CHAN = 11, 12, 15, 18
WRITE_NOTIFY, CLIENT_NAME, HOST_NAME, ACCESS_RIGHTS, ECHO = 19, 20, 21, 22, 23
STRING, DOUBLE = 0, 6
ECA_NORMAL = 1
_HEADER = struct.Struct(">HHHHII")


def _bytes(name: str) -> bytes:
    """Bytes that are no UTF-8 stand in a name as Python's surrogates do: "\\udcff"."""
    return name.encode("utf-8", "surrogateescape")


class Channel:
    def __init__(self, name: str, cid: int):
        self.name, self.cid = name, cid
        self.sid = self.rights = None


class RawClient:
    """One circuit. What it waits for must come within the time limit, in any order."""

    def __init__(self, server: int, user: str, host: str, port: int = 0):
        self.user, self.host = user, host
        self.sent_bytes = self.received_bytes = 0
        self.updates = 0  # monitor updates that came
        self.errors: list[int] = []  # statuses of ERROR answers
        self._next_id = 1
        self._channels: dict[int, Channel] = {}
        self._answers: dict[tuple[int, int], int] = {}  # command, id -> parameter 1
        self._subscriptions: set[int] = set()
        self._buffer = b""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.settimeout(60)
        self._socket.bind(("127.0.0.1", port))
        self._socket.connect(("127.0.0.1", server))
        self.port = self._socket.getsockname()[1]
        self._send(VERSION, count=13)
        self._send(HOST_NAME, payload=_bytes(host) + b"\0")
        self._send(CLIENT_NAME, payload=_bytes(user) + b"\0")

    def create(self, name: str) -> Channel:
        return self.wait_created(self.start_create(name))

    def start_create(self, name: str) -> Channel:
        channel = Channel(name, self._new_id())
        self._channels[channel.cid] = channel
        self._send(CREATE_CHAN, p1=channel.cid, p2=13, payload=_bytes(name) + b"\0")
        return channel

    def wait_created(self, channel: Channel) -> Channel:
        self._wait(lambda: channel.sid is not None and channel.rights is not None)
        return channel

    def clear(self, channel: Channel) -> None:
        self._send(CLEAR_CHANNEL, p1=channel.sid, p2=channel.cid)
        self._wait(lambda: (CLEAR_CHANNEL, channel.cid) in self._answers)

    def write(self, channel: Channel, value: float, count: int = 1) -> None:
        """An array of so many elements that are all the same."""
        self._send(WRITE, DOUBLE, count, channel.sid, self._new_id(), struct.pack(">d", value) * count)

    def write_text(self, channel: Channel, text: str) -> None:
        self._send(WRITE, STRING, 1, channel.sid, self._new_id(), text.encode() + b"\0")

    def write_notify(self, channel: Channel, value: float) -> int:
        """The status of the answer."""
        return self.wait_written(self.start_write_notify(channel, value))

    def start_write_notify(self, channel: Channel, value: float | str) -> int:
        ioid = self._new_id()
        if isinstance(value, str):
            self._send(WRITE_NOTIFY, STRING, 1, channel.sid, ioid, value.encode() + b"\0")
        else:
            self._send(WRITE_NOTIFY, DOUBLE, 1, channel.sid, ioid, struct.pack(">d", value))
        return ioid

    def wait_written(self, ioid: int) -> int:
        """The status of the answer to start_write_notify()."""
        return self._answer(WRITE_NOTIFY, ioid)

    def get(self, channel: Channel) -> None:
        """When it returns, the server has done all that was sent before."""
        ioid = self._new_id()
        self._send(READ_NOTIFY, DOUBLE, 1, channel.sid, ioid)
        assert self._answer(READ_NOTIFY, ioid) == ECA_NORMAL

    def monitor(self, channel: Channel) -> int:
        subscription = self._new_id()
        self._subscriptions.add(subscription)
        before = self.updates
        self._send(EVENT_ADD, DOUBLE, 1, channel.sid, subscription,
                   struct.pack(">fffHH", 0, 0, 0, 1, 0))
        self._wait(lambda: self.updates > before)
        return subscription

    def cancel(self, channel: Channel, subscription: int) -> None:
        self._send(EVENT_CANCEL, DOUBLE, 1, channel.sid, subscription)
        self._wait(lambda: subscription not in self._subscriptions)

    def events(self, on: bool) -> None:
        self._send(EVENTS_ON if on else EVENTS_OFF)

    def echo(self) -> None:
        self._send(ECHO)
        self._answer(ECHO, 0)

    def wait_rights(self, channels: list[Channel], rights: int) -> None:
        self._wait(lambda: all(channel.rights == rights for channel in channels))

    def wait_updates(self, count: int) -> None:
        self._wait(lambda: self.updates >= count)
        assert self.updates == count

    def kill(self) -> None:
        self._socket.close()

    name = "raw client"

    def describe(self) -> str:
        return f"raw client {self.user}@{self.host}: {self.sent_bytes} bytes sent, {self.received_bytes} received"

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _send(self, command: int, kind: int = 0, count: int = 0, p1: int = 0, p2: int = 0,
              payload: bytes = b"") -> None:
        payload += b"\0" * (-len(payload) % 8)
        data = _HEADER.pack(command, len(payload), kind, count, p1, p2) + payload
        self._socket.sendall(data)
        self.sent_bytes += len(data)

    def _answer(self, command: int, identity: int) -> int:
        self._wait(lambda: (command, identity) in self._answers)
        return self._answers.pop((command, identity))

    def _wait(self, done: Callable[[], bool]) -> None:
        while not done():
            data = self._socket.recv(65536)
            assert data, "the server closed the circuit"
            self.received_bytes += len(data)
            self._buffer += data
            while self._take_message():
                pass

    def _take_message(self) -> bool:
        if len(self._buffer) < _HEADER.size:
            return False
        command, size, _, count, p1, p2 = _HEADER.unpack_from(self._buffer)
        assert size != 0xFFFF, "no array is asked for"
        if len(self._buffer) < _HEADER.size + size:
            return False
        payload = self._buffer[_HEADER.size:_HEADER.size + size]
        self._buffer = self._buffer[_HEADER.size + size:]
        self._take(command, size, p1, p2, payload)
        return True

    def _take(self, command: int, size: int, p1: int, p2: int, payload: bytes) -> None:
        if command == ACCESS_RIGHTS:
            self._channels[p1].rights = p2
        elif command == CREATE_CHAN:
            self._channels[p1].sid = p2
        elif command == EVENT_ADD and size == 0:
            self._subscriptions.discard(p2)  # the answer to EVENT_CANCEL
        elif command == EVENT_ADD:
            self.updates += 1
        elif command == ERROR:
            self.errors.append(p2)
        else:
            self._answers[command, p2] = p1
