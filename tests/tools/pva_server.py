"""A PV Access server that is no IOC: PVs by name, written by any client.

    pva_server.py ADDRESS PORT[/SEARCH_PORT] PV...

A PV whose name ends in ":closed" answers each put with an error, one in ":array" holds an array. All
take calls. Prints "@ready", and "@put NAME", "@closed NAME" or "@call NAME" for each that came; ends with its input.
"""
import sys

from p4p.nt import NTScalar
from p4p.server import Server
from p4p.server.thread import SharedPV


class Handler:
    def put(self, pv, op):
        if op.name().endswith(":closed"):
            op.done(error="not today")
            print(f"@closed {op.name()}", flush=True)
        else:
            pv.post(op.value())
            op.done()
            print(f"@put {op.name()}", flush=True)

    def rpc(self, _pv, op):
        op.done(NTScalar("d").wrap(4.0))
        print(f"@call {op.name()}", flush=True)


def make(name: str) -> SharedPV:
    if name.endswith(":array"):
        return SharedPV(nt=NTScalar("ad"), initial=[0.0], handler=Handler())
    return SharedPV(nt=NTScalar("d"), initial=0.0, handler=Handler())


def main(address: str, port: str, *names: str) -> None:
    port, _, search = port.partition("/")
    conf = {"EPICS_PVAS_INTF_ADDR_LIST": address, "EPICS_PVAS_SERVER_PORT": port,
            "EPICS_PVAS_BROADCAST_PORT": search or port,
            "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO", "EPICS_PVAS_BEACON_ADDR_LIST": "127.0.0.1:1"}
    with Server(providers=[{name: make(name) for name in names}], conf=conf, useenv=False):
        print("@ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
