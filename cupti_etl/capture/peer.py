"""Who is at the other end of a socket."""

from __future__ import annotations

import socket
import struct

_CREDENTIALS = struct.Struct("iII")


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end, as the kernel says: of a pair, those who made it."""
    said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(said)
    return pid, uid
