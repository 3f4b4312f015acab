"""A child process with its output in files, that never outlives its test."""
import ctypes
import os
import pathlib
import re
import signal
import subprocess
from typing import Mapping, Sequence

from .waiting import wait_until


_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def _die_with_parent() -> None:
    """In the child before exec: when ctest kills the test at its time limit, the child goes too."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """Started in a session of its own, so that `kill` also reaches what the child started itself."""

    def __init__(self, name: str, argv: Sequence[object], log_dir: pathlib.Path,
                 env: Mapping[str, str] | None = None, **popen):
        self.name = name
        stem = f"{name}-{len(list(log_dir.glob('*.out'))):02d}"
        self.stdout_path = log_dir / f"{stem}.out"
        self.stderr_path = log_dir / f"{stem}.err"
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self.popen = subprocess.Popen([str(a) for a in argv], stdin=subprocess.PIPE, stdout=out,
                                          stderr=err, env={**os.environ, **(env or {})},
                                          start_new_session=True, preexec_fn=_die_with_parent,
                                          **popen)

    @property
    def pid(self) -> int:
        return self.popen.pid

    def stdout(self) -> str:
        return self.stdout_path.read_text(errors="replace")

    def stderr(self) -> str:
        return self.stderr_path.read_text(errors="replace")

    def describe(self) -> str:
        return (f"{self.name} (pid {self.pid}, status {self.popen.poll()})\n"
                f"--- its stdout, end:\n{self.stdout()[-2000:]}\n"
                f"--- its stderr, end:\n{self.stderr()[-4000:]}")

    def send_line(self, line: str) -> None:
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def wait_for(self, pattern: str, where: str = "stdout", timeout: float = 60.0) -> re.Match:
        """The first match of `pattern` in its stdout or stderr; fails at once when it ends before."""
        read = self.stdout if where == "stdout" else self.stderr

        def found():
            ended = self.popen.poll() is not None
            match = re.search(pattern, read(), re.MULTILINE)
            if match is None and ended:
                raise AssertionError(f"ended before it printed {pattern!r}: {self.describe()}")
            return match

        try:
            return wait_until(found, f"{pattern!r} on {where} of {self.name}", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from None

    def wait_exit(self, timeout: float = 60.0) -> int:
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not within {timeout} s: the end of {self.describe()}") from None

    def terminate(self, timeout: float = 60.0) -> int:
        self.popen.send_signal(signal.SIGTERM)
        return self.wait_exit(timeout)

    def kill(self) -> None:
        """SIGKILL to the process and to everything in its session's process group; then reaped."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.wait(60)  # the kernel takes its probes off first
        self.popen.stdin.close()
