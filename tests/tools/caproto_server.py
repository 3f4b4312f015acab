"""A Channel Access server without EPICS Base: caproto's.

    caproto_server.py PV...

Each PV is a float. "@running" is printed when it serves. A line with a number on stdin is answered when clients have
made so many writes: with "@counts" and how many each PV took, in the order of the arguments. An echo is answered before
the writes that came ahead of it are done.
"""
import asyncio
import sys
import threading
import time

from caproto import ChannelDouble
from caproto.asyncio.server import start_server


class CountingDouble(ChannelDouble):
    writes = 0

    async def write_from_dbr(self, *args, **kwargs):
        self.writes += 1
        return await super().write_from_dbr(*args, **kwargs)


def answer(channels: list[CountingDouble]) -> None:
    for line in sys.stdin:
        while sum(channel.writes for channel in channels) < int(line):
            time.sleep(0.01)
        print("@counts", *(channel.writes for channel in channels), flush=True)


async def serve(pvdb: dict[str, CountingDouble]) -> None:
    async def say(_) -> None:
        print("@running", flush=True)

    await start_server(pvdb, interfaces=["127.0.0.1"], startup_hook=say)


def main() -> None:
    pvdb = {name: CountingDouble(value=0.0) for name in sys.argv[1:]}
    threading.Thread(target=answer, args=[list(pvdb.values())], daemon=True).start()
    asyncio.run(serve(pvdb))


if __name__ == "__main__":
    main()
