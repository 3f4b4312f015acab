"""A PV Access client: puts an exact number of times.

    put_p4p.py COUNT PV VALUE [PV VALUE]...

Prints "@connected" when all its channels are; each line on stdin sends COUNT puts to each PV, waits for
all answers, and prints "@sent N". VALUE is a number, a text, an array, or the fields of a group in JSON. A PV may have
suffixes: "=notify" asks the IOC to answer when processing is done (record._options.block), "=process" to process
whatever the record's kind; "=refused": each put is answered with an error; "=call": the put is a remote call.
"""
import json
import sys

from p4p.client.thread import Context, RemoteError
from p4p.nt import NTURI


def typed(text: str):
    if text.startswith(("{", "[")):
        return json.loads(text)
    try:
        return float(text)
    except ValueError:
        return text


def put(context: Context, name: str, value) -> None:
    name, *suffixes = name.split("=")
    request = None
    if "notify" in suffixes:
        request = "record[block=true]field(value)"
    if "process" in suffixes:
        request = "record[process=true]field(value)"
    if "call" in suffixes:
        context.rpc(name, NTURI([("value", "d")]).wrap(name, kws={"value": value}), timeout=30)
        return
    try:
        context.put(name, value if isinstance(value, dict) else {"value": value}, timeout=30, request=request)
    except RemoteError:
        if "refused" not in suffixes:
            raise
    else:
        assert "refused" not in suffixes, f"{name} took {value!r}"


def main() -> None:
    count = int(sys.argv[1])
    pairs = list(zip(sys.argv[2::2], map(typed, sys.argv[3::2])))
    with Context("pva", nt=False) as context:
        for name, _ in pairs:
            context.get(name.partition("=")[0], timeout=30)
        print("@connected", flush=True)
        for _ in iter(sys.stdin.readline, ""):
            for name, value in pairs:
                for _ in range(count):
                    put(context, name, value)
            print(f"@sent {count * len(pairs)}", flush=True)


if __name__ == "__main__":
    main()
