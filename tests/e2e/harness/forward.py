"""Passes TCP connections on to TARGET PORT unchanged, prints the port that it listens on, ends with its input."""
import selectors
import socket
import sys


def main(target: str, port: int) -> None:
    listener = socket.create_server(("", 0))
    print(listener.getsockname()[1], flush=True)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                client, _ = listener.accept()
                server = socket.create_connection((target, port))
                selector.register(client, selectors.EVENT_READ, server)
                selector.register(server, selectors.EVENT_READ, client)
                continue
            data = key.fileobj.recv(65536)
            if data:
                key.data.sendall(data)
                continue
            for end in (key.fileobj, key.data):
                selector.unregister(end)
                end.close()
            break  # the other end may be among those that are ready


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
