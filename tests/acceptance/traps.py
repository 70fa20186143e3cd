"""A server that looks ready, reads every other request, and ends the connection without a response."""

import socket
import threading
from collections import Counter
from contextlib import suppress
from typing import Self

READY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Trap:
    """Counts the requests that it drops by method."""

    def __init__(self) -> None:
        self._dropped: Counter[str] = Counter()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def count(self, method: str) -> int:
        return self._dropped[method]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(5.0)
                self._meet(connection)

    def _meet(self, connection: socket.socket) -> None:
        head = connection.recv(65_536)
        while head and b"\r\n\r\n" not in head:
            head += connection.recv(65_536)
        method, _, rest = head.partition(b" ")
        if rest.startswith(b"/readyz"):
            connection.sendall(READY)
        elif method:
            self._dropped[method.decode()] += 1
