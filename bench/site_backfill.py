"""Writes the simulated site's past into a Prometheus, by remote write: all series of the last hours, and of the time
before those that somebody looks at over a day.

A scrape of two million series takes seconds; a day of them would take hours. Here all IOCs of a kind share the bytes
of their samples, and a request has an hour of one IOC: only the labels differ, which have places of a fixed length for
the names (Block.series). Snappy is used without compressing.
"""
import collections.abc
import http.client
import struct
import time

from site_pages import KINDS, Site

SLAB = 60  # samples of a series in a request; more than an hour would be out of bounds for the next series
STEP = 60  # seconds from sample to sample


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def snappy(content: bytes) -> bytes:
    """The block format, as one literal."""
    return varint(len(content)) + b"\xfc" + struct.pack("<I", len(content) - 1) + content


def labels_of(series: dict[str, str]) -> bytes:
    return b"".join(field(1, field(1, name.encode()) + field(2, value.encode()))
                    for name, value in sorted(series.items()))


def samples_of(values: list[float], first: int) -> bytes:
    return b"".join(b"\x12\x10\x09" + struct.pack("<d", value) + b"\x10" + varint((first + STEP * i) * 1000)
                    for i, value in enumerate(values) if value is not None)


class Backfill:
    def __init__(self, site: Site, hosts: int, port: int):
        self.site, self.hosts = site, hosts
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self.samples = 0

    def send(self, content: bytes) -> None:
        if not content:
            return
        headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
                   "X-Prometheus-Remote-Write-Version": "0.1.0"}
        self.connection.request("POST", "/api/v1/write", snappy(content), headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 204):
            raise SystemExit(f"remote write: {answer.status} {text.decode()[:500]}")

    def slab(self, first: int, count: int, wanted: collections.abc.Callable[[str], bool], whole: str = "") -> None:
        """`count` samples of all series that are wanted by their names; of the IOC `whole`, of all."""
        times = [first + STEP * i for i in range(count)]
        blocks: dict[tuple, bytes] = {}

        def block(name: str, kind: int, everything: bool) -> bytes:
            key = (name, kind, everything)
            if key not in blocks:
                made = [field(1, labels_of(labels) + samples_of(values, first))
                        for labels, values in self.site.series_of(name, kind, times)
                        if (everything or wanted(labels["__name__"])) and any(value is not None for value in values)]
                blocks[key] = b"".join(made)
            return blocks[key]

        self.send(block("site", 0, True))
        for host in range(self.hosts):
            self.send(Site.with_names(block("host", 0, True), host))
            for number in range(self.site.iocs):
                kind = (host + number) % KINDS
                everything = f"ioc{host:03}-{number:02}" == whole
                parts = [block("ioc", kind, everything)]
                for name, count_of in self.site.counts():
                    one = block(name, kind, everything)
                    parts += [Site.with_names(one, host, number, i) for i in range(count_of)] if one else []
                content = Site.with_names(b"".join(parts), host, number)
                self.send(content)

    def run(self, until: int, full_minutes: int, hours: int, wanted: collections.abc.Callable[[str], bool],
            whole: str) -> None:
        """Up to `until`, seconds since 1970."""
        full = until - 60 * full_minutes
        first = until - 3600 * hours
        while first < until:
            end = full if first < full else until
            count = min(SLAB, -(-(end - first) // STEP))
            began = time.time()
            self.slab(first, count, wanted if first < full else lambda name: True, whole)
            print(f"\r  {(until - first) / 3600:.0f} h ago: {time.time() - began:.1f} s ", end="", flush=True)
            first += count * STEP
        print(flush=True)
