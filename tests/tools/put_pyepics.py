"""Sends COUNT puts to each PV with pyepics. Protocol on stdin and stdout: that of ca_flood.c.

    put_pyepics.py COUNT write|write_notify PV...
"""
import sys

import epics


def main() -> None:
    count, notify, names = int(sys.argv[1]), sys.argv[2] == "write_notify", sys.argv[3:]
    pvs = [epics.PV(name, auto_monitor=False, connection_timeout=20) for name in names]
    if not all(pv.wait_for_connection(20) for pv in pvs):
        sys.exit(f"put_pyepics: not connected: {[pv.pvname for pv in pvs if not pv.connected]}")
    print("@connected", flush=True)
    sys.stdin.readline()
    for value in range(count):
        for pv in pvs:
            if pv.put(value, wait=notify, timeout=20) != 1:
                sys.exit(f"put_pyepics: put to {pv.pvname} failed")
    # A circuit is served in order: once the get is answered, the puts before it are done.
    for pv in pvs:
        if pv.get(timeout=20, use_monitor=False) is None:
            sys.exit(f"put_pyepics: no value of {pv.pvname}")
    print(f"@sent {count * len(pvs)}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
