"""A proxy before a server of the tests: counts what passes, and cuts or refuses connections."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Passes connections on to a port of this machine.

    Attributes:
        port: of the proxy.
        is_gone: whether connections are refused from now on.
        cut_after: bytes of a request after which its connection is cut; None for never.
        cuts: how many were.
        pause_s: how long each 4 KiB of a request takes.
        received: bytes that the server sent so far.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.is_gone = False
        self.cut_after: int | None = None
        self.pause_s = 0.0
        self.cuts = self.refused = self.received = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_gone:
                    self.refused += 1
                    client.close()
                    continue
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self._to)) as server:
            back = threading.Thread(target=self._pass, args=(server, client, False), daemon=True)
            back.start()
            self._pass(client, server, True)
            back.join()

    def _pass(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        passed = 0
        with suppress(OSError):
            while data := source.recv(1 << 12 if is_request else 1 << 16):
                if is_request:
                    time.sleep(self.pause_s)
                if self.is_gone:
                    break
                passed += len(data)
                if is_request and self.cut_after is not None and passed > self.cut_after:
                    self.cuts += 1
                    break
                if not is_request:
                    self.received += len(data)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept nothing more."""
        self._listener.close()
