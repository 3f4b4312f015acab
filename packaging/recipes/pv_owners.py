#!/usr/bin/env python3
"""Writes who owns each PV, as ChannelFinder knows it, for node_exporter's textfile collector:

  python3 pv_owners.py --url=http://channelfinder.example.org:8080 --output=/var/lib/prometheus/node-exporter/pv_owners.prom

From a timer, on one host. On an error the old file stays, and the exit status is 1. docs/recipes.md has queries.
"""
import argparse
import http.client
import json
import os
import re
import signal
import sys
import tempfile
import urllib.parse
import urllib.request

FAMILY = "epics_pv_owner_info"
WINDOW = 10000  # channels in an answer: ChannelFinder's own bound
MAX_ANSWER = 256 << 20  # bytes; 10,000 channels with their properties are a tenth of that
MAX_VALUE = 128  # characters of a label


class Failure(Exception):
    pass


def ask(name: str, arguments) -> list:
    """The channels of one pattern: all or an error, since ChannelFinder cuts a longer list without a word."""
    query = [("~name", name), ("~size", WINDOW), *(match.split("=", 1) for match in arguments.match or ["pvStatus=Active"])]
    address = f"{arguments.url.rstrip('/')}/ChannelFinder/resources/channels?{urllib.parse.urlencode(query)}"
    try:
        with urllib.request.urlopen(address, timeout=arguments.timeout) as answer:
            body = answer.read(MAX_ANSWER + 1)
        channels = json.loads(body) if len(body) <= MAX_ANSWER else None
    except (OSError, ValueError, RecursionError, http.client.HTTPException) as error:  # time limits are OSErrors
        raise Failure(f"read channels from {address}: {error}") from None
    if not isinstance(channels, list):
        raise Failure(f"read channels from {address}: the answer is not a list of channels, or has over {MAX_ANSWER} bytes")
    if len(channels) >= WINDOW:
        raise Failure(f"read channels from {address}: {WINDOW} channels or more, which ChannelFinder cuts: use several --name")
    return channels


def labels_of(channel: dict, wanted: dict[str, str]) -> dict[str, str]:
    """`wanted`: property by label, "" for the channel's own owner. ChannelFinder's names are the same in any case."""
    properties = {one["name"].lower(): one["value"] or "" for one in channel["properties"]}
    return {label: str(properties.get(name.lower(), "") if name else channel["owner"])[:MAX_VALUE] for label, name in wanted.items()}


def quoted(value: str) -> str:
    printable = value.encode("utf-8", "replace").decode()  # JSON may have halves of a character
    return '"' + printable.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") + '"'


def page(channels: list, wanted: dict[str, str], limit: int) -> str:
    lines = {}
    for channel in channels:
        try:
            labels = labels_of(channel, wanted)
            if any(labels.values()):
                pairs = {"pv": channel["name"], **labels}
                lines[channel["name"]] = ",".join(f"{label}={quoted(value)}" for label, value in pairs.items())
        except (KeyError, TypeError, AttributeError) as error:
            raise Failure(f"read channel {json.dumps(channel)[:200]}: {error!r}") from None
    if len(lines) > limit:
        raise Failure(f"write {len(lines)} PVs: more than --limit={limit}")
    head = f"# HELP {FAMILY} Owner of a PV, from ChannelFinder. Always 1.\n# TYPE {FAMILY} gauge\n"
    return head + "".join(f"{FAMILY}{{{labels}}} 1\n" for _, labels in sorted(lines.items()))


def replace(path: str, text: str) -> None:
    """node_exporter reads whole files ending in .prom: the old one or the new one."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=os.path.dirname(path) or ".", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), 0o644)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise Failure(f"write {path}: {error}") from None


def assignment(text: str) -> str:
    if not re.fullmatch(r"[^=~]+=.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


def label(text: str) -> str:
    if not re.fullmatch(r"(?!pv=|__)[a-z_]+=.+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=PROPERTY, of small letters and _, other than pv")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="ChannelFinder, without /ChannelFinder")
    parser.add_argument("--output", required=True, help="file ending in .prom in the folder of the textfile collector")
    parser.add_argument("--name", action="append", default=[], help="pattern of names, such as 'SR:*' (repeatable; default: *)")
    parser.add_argument("--match", action="append", default=[], type=assignment, metavar="PROPERTY=PATTERN",
                        help="only channels with this property (repeatable; default: pvStatus=Active)")
    parser.add_argument("--label", action="append", default=[], type=label, metavar="LABEL=PROPERTY",
                        help="label from a property, such as area=Location (repeatable); owner is the channel's own where not given")
    parser.add_argument("--limit", type=int, default=10000, help="more PVs are an error; default: 10000")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for all of it")
    arguments = parser.parse_args()

    def late(*_):
        raise TimeoutError(f"not done after {arguments.timeout} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(arguments.timeout)
    try:
        channels = [channel for name in arguments.name or ["*"] for channel in ask(name, arguments)]
        replace(arguments.output, page(channels, {"owner": "", **dict(text.split("=", 1) for text in arguments.label)}, arguments.limit))
    except (Failure, TimeoutError) as error:
        sys.exit(f"pv_owners.py: {error}")


if __name__ == "__main__":
    main()
