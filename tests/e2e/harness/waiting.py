"""Waiting for a condition, never for an amount of time."""
import time
from typing import Callable, TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str, timeout: float = 60.0,
               every: float = 0.05) -> T:
    """The first true value of `condition`; AssertionError with the last value after `timeout` s."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what} (last value: {value!r})")
        time.sleep(every)


def wait_stable(read: Callable[[], T], what: str, quiet: float = 0.5, timeout: float = 60.0) -> T:
    """The value of `read` once it has not changed for `quiet` seconds."""
    deadline = time.monotonic() + timeout
    last, since = read(), time.monotonic()
    while time.monotonic() - since < quiet:
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what} at rest (now {last!r})")
        time.sleep(0.05)
        value = read()
        if value != last:
            last, since = value, time.monotonic()
    return last
