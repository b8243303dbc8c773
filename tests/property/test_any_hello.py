"""Hellos of every kind: each connection becomes a process, or is counted, and nothing leaks."""

from __future__ import annotations

import gc
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cupti_etl.capture.collector import Collector

pytestmark = pytest.mark.slow

MAGIC = 0x314F4C4C45484C45
HELLO = struct.Struct("<QIi512s")

numbers = st.integers(0, 2**32 - 1)
hellos = st.builds(
    lambda magic, version, pid, reason: HELLO.pack(magic, version, pid, reason),
    st.sampled_from([MAGIC, MAGIC ^ 1, 0]),
    numbers,
    st.integers(-(2**31), 2**31 - 1),
    st.binary(max_size=512),
)
messages = st.one_of(
    hellos,
    st.builds(lambda whole, size: whole[:size], hellos, st.integers(0, 600)),
    st.builds(lambda whole, more: whole + more, hellos, st.binary(max_size=600)),
    st.binary(max_size=64),
)
clients = st.fixed_dictionaries(
    {
        "address": st.sampled_from(["", "\0"]),
        "messages": st.lists(messages, max_size=3),
        "files": st.integers(0, 3),
        "is_memory": st.booleans(),
        "ends": st.sampled_from(["closes", "shuts", "stays", "reset"]),
    }
)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def play(collector: Collector, client: dict) -> socket.socket:  # type: ignore[type-arg]
    """Connect, say all that, and end."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"{client['address']}{collector.settings['SOCKET']}")
    files = [
        os.memfd_create("m") if client["is_memory"] else os.open("/dev/null", os.O_RDWR)
        for _ in range(client["files"])
    ]
    for number, message in enumerate(client["messages"]):
        socket.send_fds(connection, [message], files if number == 0 and message else [])
    for file in files:
        os.close(file)
    if client["ends"] == "shuts":
        connection.shutdown(socket.SHUT_WR)
    elif client["ends"] != "stays":
        connection.close()
    return connection


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_collected() -> Iterator[None]:
    """Descriptors that other tests may have left are not closed meanwhile.

    To look for them at each example would take longer than all of it, in a large process.
    """
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@settings(max_examples=150, deadline=None)
@given(st.lists(clients, min_size=1, max_size=6))
def test_every_connection_is_counted(crowd: list[dict]) -> None:  # type: ignore[type-arg]
    before = descriptors()
    collector = Collector()
    try:
        made = [play(collector, client) for client in crowd]
        for _ in range(3):
            collector.drain()
        # None of them has brought a segment, so all are refused but those that say nothing.
        silent = sum(client["ends"] == "stays" and not any(client["messages"]) for client in crowd)
        assert collector.traced == []
        assert collector.live == silent
        collector.abandon()
        assert len(collector.refused) == len(crowd)
        for one in collector.losses():
            assert one.cause == "not_traced"
            one.detail.encode()
        for connection in made:
            connection.close()
    finally:
        collector.close()
    assert descriptors() == before
