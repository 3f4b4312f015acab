"""A Channel Access client on a plain socket: each message is sent when the test says so."""
import contextlib
import socket
import struct
import threading

from caproto import _commands as commands

_HEADER = struct.Struct(">HHHHII")
_CREATE_CHAN, _ECHO = 18, 23
_DOUBLE = 6


class NamedClient:
    """One circuit. `user` and `host` are what it calls itself."""

    def __init__(self, port: int, user: str, host: str):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._received = b""
        self._next_cid = 1
        self._channels: dict[str, tuple[int, int]] = {}  # name -> CID, SID
        self._send(commands.VersionRequest(0, 13), commands.HostNameRequest(host),
                   commands.ClientNameRequest(user))

    def open(self, *names: str) -> "NamedClient":
        for name in names:
            cid, self._next_cid = self._next_cid, self._next_cid + 1
            self._send(commands.CreateChanRequest(name, cid, 13))
            answer = self._wait_for(_CREATE_CHAN)
            assert answer[4] == cid, f"the server answered for CID {answer[4]}, not {cid}"
            self._channels[name] = (cid, answer[5])
        return self

    def clear(self, *names: str) -> None:
        for name in names:
            cid, sid = self._channels.pop(name)
            self._send(commands.ClearChannelRequest(sid, cid))
        self.wait_done()

    def put(self, name: str, count: int) -> None:
        """Sends WRITE messages; wait_done() tells when the IOC has carried them out."""
        for value in range(count):
            self._send(commands.WriteRequest([float(value)], _DOUBLE, 1, self._channels[name][1], 0))

    def wait_done(self) -> None:
        """A circuit is served in order: the answer to an echo comes after all that was sent."""
        self._send(commands.EchoRequest())
        self._wait_for(_ECHO)

    def kill(self) -> None:
        self._socket.close()

    def describe(self) -> str:
        return f"raw client with {list(self._channels)}"

    name = "raw client"

    def _send(self, *messages) -> None:
        self._socket.sendall(b"".join(bytes(message) for message in messages))

    def _wait_for(self, command: int) -> tuple:
        while True:
            while len(self._received) >= _HEADER.size:
                header = _HEADER.unpack_from(self._received)
                size = _HEADER.size + header[1]
                if len(self._received) < size:
                    break
                self._received = self._received[size:]
                if header[0] == command:
                    return header
            data = self._socket.recv(65536)
            assert data, f"the server closed the connection of {self.describe()}"
            self._received += data


@contextlib.contextmanager
def putting(client: NamedClient, names: list[str]):
    """Puts to all of `names`, in turn, without end while the body runs."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for name in names:
                client.put(name, 1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        client.wait_done()
