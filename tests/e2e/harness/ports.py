"""Port numbers that nobody uses at the moment."""
import contextlib
import random
import socket

# Below the ports that the kernel gives to clients (net.ipv4.ip_local_port_range), one of which may take a port between
# the look here and the server's bind().
_FIRST, _LAST = 12000, 31999
# Held until this process ends: test files run beside each other, some in the same network namespace.
_given: dict[int, socket.socket] = {}


def _take(port: int) -> bool:
    """Whether no other test has it: an abstract name is there once for a network namespace, and leaves with its process."""
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        name.bind(f"\0ioc_exporter test port {port}")
    except OSError:
        name.close()
        return False
    _given[port] = name
    return True


def free_port() -> int:
    """A port that is free for TCP and UDP on all addresses and that no test was given before."""
    for _ in range(200):
        port = random.randint(_FIRST, _LAST)
        if port in _given:
            continue
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as tcp, \
                contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as udp:
            try:
                tcp.bind(("", port))
                udp.bind(("", port))
            except OSError:
                continue
        if _take(port):
            return port
    raise AssertionError("no port is free for both TCP and UDP")
