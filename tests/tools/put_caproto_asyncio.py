"""Sends COUNT puts to each PV with caproto's asyncio client. Protocol on stdin and stdout: that of ca_flood.c.

    put_caproto_asyncio.py COUNT write|write_notify PV...

The user that it announces is the environment's LOGNAME.
"""
import asyncio
import sys

from caproto.asyncio.client import Context


async def run(count: int, notify: bool, names: list[str]) -> None:
    context = Context()
    pvs = await context.get_pvs(*names)
    for pv in pvs:
        await pv.wait_for_connection(timeout=20)
    print("@connected", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for value in range(count):
        for pv in pvs:
            await pv.write([float(value)], notify=notify, wait=notify, timeout=20)
    # A circuit is served in order: once the get is answered, the puts before it are done.
    for pv in pvs:
        await pv.read(timeout=20)
    print(f"@sent {count * len(pvs)}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await context.disconnect()


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), sys.argv[2] == "write_notify", sys.argv[3:]))
