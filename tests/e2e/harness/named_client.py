"""A Channel Access client whose channels go by their PV names, for tests that send many puts."""
import contextlib
import threading

from .raw_client import Channel, RawClient


class NamedClient(RawClient):
    """One circuit. `user` and `host` are what it calls itself."""

    def __init__(self, port: int, user: str, host: str):
        super().__init__(port, user, host)
        self._by_name: dict[str, Channel] = {}

    def open(self, *names: str) -> "NamedClient":
        for name in names:
            self._by_name[name] = self.create(name)
        return self

    def close(self, *names: str) -> None:
        for name in names:
            self.clear(self._by_name.pop(name))

    def put(self, name: str, count: int) -> None:
        """Sends WRITE messages; wait_done() tells when the IOC has carried them out."""
        for value in range(count):
            self.write(self._by_name[name], float(value))

    def prove(self, name: str) -> None:
        """So many messages prove to the tap where messages start, on a circuit that was open before."""
        for _ in range(16):
            self.get(self._by_name[name])

    def wait_done(self) -> None:
        """A circuit is served in order: the answer to an echo comes after all that was sent."""
        self.echo()


@contextlib.contextmanager
def putting(client: NamedClient, names: list[str]):
    """Puts to all of `names`, in turn, without end while the body runs."""
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            for name in names:
                client.put(name, 1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        client.wait_done()
