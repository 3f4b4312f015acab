"""A PV Access client: puts an exact number of times.

    put_p4p.py COUNT PV VALUE [PV VALUE]...

Prints "@connected" when all its channels are; each line on stdin sends COUNT puts to each PV, waits for
all answers, and prints "@sent N". "notify" as a PV's suffix, "PV=notify", asks the IOC to answer when
processing is done (record._options.block).
"""
import sys

from p4p.client.thread import Context


def typed(text: str):
    try:
        return float(text)
    except ValueError:
        return text


def main() -> None:
    count = int(sys.argv[1])
    pairs = list(zip(sys.argv[2::2], map(typed, sys.argv[3::2])))
    with Context("pva", nt=False) as context:
        for name, _ in pairs:
            context.get(name.removesuffix("=notify"), timeout=30)
        print("@connected", flush=True)
        for _ in iter(sys.stdin.readline, ""):
            for name, value in pairs:
                notify = name.endswith("=notify")
                for _ in range(count):
                    context.put(name.removesuffix("=notify"), {"value": value}, timeout=30,
                                request="record[block=true]field(value)" if notify else None)
            print(f"@sent {count * len(pairs)}", flush=True)


if __name__ == "__main__":
    main()
