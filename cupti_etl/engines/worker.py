"""A worker of the engine ``processes``: reads calls from stdin, writes what they return to stdout.

Each message is a pickle, with its length before it.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from typing import IO, Any

_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message.

    Raises:
        OSError: the other side is gone.
    """
    content = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message.

    Raises:
        EOFError: the other side is gone.
    """
    length = _LENGTH.size
    head = stream.read(length)
    if len(head) < length:
        raise EOFError
    content = stream.read(*_LENGTH.unpack(head))
    if len(content) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return pickle.loads(content)


def main() -> None:
    """Serve until nobody asks any more."""
    # Ctrl-C comes to the whole group; who started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is printed by others is no message.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            call = receive(sys.stdin.buffer)
        except EOFError:
            return
        send(answers, call())


if __name__ == "__main__":
    main()
