"""Port numbers that nobody uses at the moment."""
import contextlib
import socket

_given: set[int] = set()


def free_port() -> int:
    """A port that is free for TCP and UDP on loopback and that this test was not given before."""
    for _ in range(100):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as tcp, \
                contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as udp:
            tcp.bind(("127.0.0.1", 0))
            port = tcp.getsockname()[1]
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
    raise AssertionError("no port is free for both TCP and UDP")
