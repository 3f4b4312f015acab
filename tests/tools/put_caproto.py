"""Sends COUNT puts to each PV with caproto. Protocol on stdin and stdout: that of ca_flood.c.

    put_caproto.py COUNT write|write_notify PV...

The user that it announces is the environment's LOGNAME.
"""
import sys

from caproto.threading.client import Context


def main() -> None:
    count, notify, names = int(sys.argv[1]), sys.argv[2] == "write_notify", sys.argv[3:]
    context = Context()
    pvs = context.get_pvs(*names, timeout=20)
    for pv in pvs:
        pv.wait_for_connection(timeout=20)
    print("@connected", flush=True)
    sys.stdin.readline()
    for value in range(count):
        for pv in pvs:
            pv.write([float(value)], notify=notify, wait=notify, timeout=20)
    # A circuit is served in order: once the get is answered, the puts before it are done.
    for pv in pvs:
        pv.read(timeout=20)
    print(f"@sent {count * len(pvs)}", flush=True)
    sys.stdin.read()
    context.disconnect()


if __name__ == "__main__":
    main()
