"""Who connects to the collector: its work is bounded, and nobody keeps others out."""

from __future__ import annotations

import errno
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from cupti_etl.capture import listener as module
from cupti_etl.capture.listener import Greeting, Listener

HELLO = struct.pack("<QIi512s", 0x314F4C4C45484C45, 1, 1, b"")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, so that a test reaches them."""
    monkeypatch.setattr(module, "_ACCEPTS", 4)
    monkeypatch.setattr(module, "_MOST_SILENT", 8)
    monkeypatch.setattr(module, "_MOST_REFUSALS", 30)


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def connect(listener: Listener) -> Iterator[Callable[..., socket.socket]]:
    made = []

    def one(prefix: str = "") -> socket.socket:
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].connect(f"{prefix}{listener.path}")
        return made[-1]

    yield one
    for client in made:
        client.close()


def speak(client: socket.socket) -> None:
    """Say hello with some file."""
    file = os.open("/dev/null", os.O_RDONLY)
    socket.send_fds(client, [HELLO], [file])
    os.close(file)


def turn(listener: Listener) -> list[Greeting]:
    """One look at who has come."""
    greetings = list(listener.greetings())
    for greeting in greetings:
        os.close(greeting.segment)
        greeting.connection.close()
    return greetings


@pytest.mark.usefixtures("few")
def test_a_silent_crowd_starves_nobody(
    listener: Listener, connect: Callable[..., socket.socket]
) -> None:
    for _ in range(60):
        connect()
    speak(connect())
    speak(connect("\0"))
    # The other address has a queue of its own.
    assert len(turn(listener)) == 1
    for _ in range(60 // 4 - 1):
        assert listener.has_more
        assert turn(listener) == []
        assert len(listener._pending) <= 8
    assert len(turn(listener)) == 1
    assert not listener.has_more


@pytest.mark.usefixtures("few")
def test_each_silent_connection_is_counted(
    listener: Listener, connect: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(60):
        connect()
    while listener.pending and (turn(listener) or listener.has_more):
        pass
    assert len(listener._pending) == 8
    monkeypatch.setattr(module, "_MOST_REFUSALS", 60)
    listener.last_call()
    *told, rest = listener.refused
    assert rest.reason == "22 more were not captured"
    assert len(told) == 38
    assert all(one.pid == os.getpid() for one in told)


@pytest.mark.usefixtures("few")
def test_who_was_dropped_can_come_again(
    listener: Listener, connect: Callable[..., socket.socket]
) -> None:
    for _ in range(9):
        connect()
    for _ in range(3):
        turn(listener)
    (refusal,) = listener.refused
    assert refusal.is_silent
    assert refusal.pid == os.getpid()
    speak(connect())
    assert len(turn(listener)) == 1
    assert listener.refused == []


def test_the_silent_give_their_descriptors(
    listener: Listener, connect: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(20):
        connect()
    turn(listener)
    client = connect()
    left = iter([False, False, True])
    monkeypatch.setattr(module, "_has_descriptors", lambda: next(left, True))
    speak(client)
    assert len(turn(listener)) == 1
    assert len(listener._pending) == 18
    monkeypatch.setattr(module, "_has_descriptors", lambda: False)
    connect()
    turn(listener)
    # There is no room, whoever goes; it waits outside.
    assert (len(listener._pending), listener.has_more, listener.pending) == (0, False, 0)


@pytest.mark.usefixtures("few")
def test_users_who_are_not_let_in(
    listener: Listener, connect: Callable[..., socket.socket]
) -> None:
    """They get no more than their turn either."""
    listener._allowed.clear()
    for _ in range(10):
        speak(connect("\0"))
    turn(listener)
    assert len(listener.refused) == 4
    assert listener.has_more
    while listener.has_more:
        turn(listener)
    assert len(listener.refused) == 10
    assert all(f"--allow-uid {os.geteuid()} lets it in" in one.reason for one in listener.refused)


def test_room_is_found_without_counting(listener: Listener) -> None:
    """By the lowest number that is free: looking at each would be quadratic."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 17, before[1]))
        assert module._has_descriptors()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == lowest + 17
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + 16, before[1]))
        assert module._has_descriptors()
        # The soft limit was raised for it.
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_others_can_knock_if_they_may_come_in() -> None:
    listener = Listener(allow_uids=[12345])
    assert listener.path.parent.stat().st_mode & 0o777 == 0o711
    assert listener.path.stat().st_mode & 0o777 == 0o666
    listener.close()
    assert not listener.path.parent.exists()


@pytest.mark.parametrize("step", ["tempfile.gettempdir", "tempfile.mkdtemp", "_hold"])
def test_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """On a full disk the name is enough."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"cupti_etl.capture.listener.{step}", fail)
    listener = Listener()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{listener.settings['SOCKET']}")
        speak(client)
        assert len(turn(listener)) == 1
    listener.close()
    assert not listener.path.parent.exists()
