"""Nonsense for a CA server and for the exporter's HTTP server, until it is ended.

    noise.py CA_PORT HTTP_PORT
"""
import os
import random
import socket
import struct
import sys
import threading

LOOPBACK = "127.0.0.1"
WRITE, SEARCH, VERSION = 4, 6, 0


def message(command: int, kind: int, count: int, first: int, second: int, payload: bytes = b"") -> bytes:
    return struct.pack(">HHHHII", command, len(payload), kind, count, first, second) + payload


def connected(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=60)


def writes_to_channels_of_nobody(port: int) -> None:
    with connected(port) as circuit:
        circuit.sendall(message(VERSION, 0, 13, 0, 0))
        circuit.sendall(message(WRITE, 6, 1, random.getrandbits(32), 1, struct.pack(">d", 1)))


def bytes_of_nothing(port: int) -> None:
    with connected(port) as circuit:
        circuit.sendall(os.urandom(random.randrange(1, 4000)))


def nothing_at_all(port: int) -> None:
    connected(port).close()


def datagrams(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        name = b"N:%d" % random.getrandbits(40)
        search = message(SEARCH, 5, 13, 1, 1, name.ljust(24, b"\0"))
        for datagram in (os.urandom(random.randrange(1, 1400)), message(VERSION, 0, 13, 0, 0) + search):
            out.sendto(datagram, (LOOPBACK, port))


def scrape(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while client.recv(1 << 16):
            pass


def half_a_head(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /" + os.urandom(100))


def for_ever(what, port: int) -> None:
    while True:
        try:
            what(port)
        except OSError:
            pass
        threading.Event().wait(0.02)


def main() -> None:
    ca_port, http_port = map(int, sys.argv[1:])
    jobs = [(what, ca_port) for what in (writes_to_channels_of_nobody, bytes_of_nothing, nothing_at_all, datagrams)]
    jobs += [(what, http_port) for what in (scrape, half_a_head)]
    threads = [threading.Thread(target=for_ever, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    print("@noise", flush=True)
    threads[0].join()


main()
