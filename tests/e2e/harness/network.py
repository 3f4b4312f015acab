"""Network namespaces that a test makes for itself; they end with its processes."""
import ctypes
import os
import subprocess

import pytest

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def enter_own_network() -> None:
    """From now on this process and its children are in a namespace that has loopback only."""
    if _libc.unshare(_CLONE_NEWNET) != 0:
        pytest.skip(f"no network namespace of its own: {os.strerror(ctypes.get_errno())}")
    run("ip", "link", "set", "lo", "up")


class OtherNetwork:
    """A second namespace, joined to this process' own by a pair of devices."""

    here = "10.213.7.1"
    there = "10.213.7.2"

    def __init__(self):
        self.process = self
        self.name = "other network"
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._holder.stdout.readline() == b"ready\n"
        self.pid = pid = self._holder.pid
        # Its commands and processes run there.
        self.prefix = ["nsenter", f"--target={pid}", "--net"]
        run("ip", "link", "add", "to_other", "type", "veth", "peer", "name", "to_test", "netns", pid)
        run("ip", "address", "add", f"{self.here}/30", "dev", "to_other")
        run("ip", "link", "set", "to_other", "up")
        run(*self.prefix, "ip", "address", "add", f"{self.there}/30", "dev", "to_test")
        run(*self.prefix, "ip", "link", "set", "to_test", "up")
        run(*self.prefix, "ip", "link", "set", "lo", "up")

    def describe(self) -> str:
        return f"other network: held by pid {self._holder.pid}"

    def kill(self) -> None:
        self._holder.kill()
        self._holder.wait(10)
        self._holder.stdin.close()
        self._holder.stdout.close()
