"""Puts values of chosen types with caproto, one after the other, and tells what libca's monitors saw before and after.

    put_and_monitor.py FILE

FILE: a JSON list of [PV, type ("DOUBLE"), value, "write" or "write_notify"], each of which changes its PV's value.
Prints a JSON list of {"before": [...], "after": [...]}.
"""
import json
import pathlib
import queue
import sys

import epics
from caproto import ChannelType
from caproto.threading.client import Context


class Monitor:
    def __init__(self, name: str):
        self._updates: queue.Queue = queue.Queue()
        self._channel = epics.ca.create_channel(name, connect=True)
        self._subscription = epics.ca.create_subscription(self._channel, use_time=False, callback=self._note)
        self.value = self._updates.get(timeout=20)

    def _note(self, value=None, **_about):
        self._updates.put([value] if isinstance(value, (str, int, float)) else
                          [part.item() if hasattr(part, "item") else part for part in value])

    def next(self) -> dict:
        before, self.value = self.value, self._updates.get(timeout=20)
        return {"before": before, "after": self.value}


def main() -> None:
    puts = json.loads(pathlib.Path(sys.argv[1]).read_text())
    names = list(dict.fromkeys(put[0] for put in puts))
    monitors = {name: Monitor(name) for name in names}
    context = Context()
    channels = dict(zip(names, context.get_pvs(*names, timeout=20)))
    seen = []
    for name, kind, value, op in puts:
        values = [part.encode() if isinstance(part, str) else part
                  for part in (value if isinstance(value, list) else [value])]
        channels[name].wait_for_connection(timeout=20)
        channels[name].write(values, notify=op == "write_notify", wait=op == "write_notify",
                             data_type=ChannelType["INT" if kind == "SHORT" else kind], data_count=len(values), timeout=20)
        seen.append(monitors[name].next())
    print(json.dumps(seen))
    context.disconnect()


if __name__ == "__main__":
    main()
