"""The collector and what connects to it: targets as they should be, and others."""

from __future__ import annotations

import array
import gc
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI
from support.mangled import bomb
from support.records import FOREIGN, KERNEL, Bench, key, pack, string_entry
from support.shim import compile_c, native_sources

from cupti_etl.capture import naming
from cupti_etl.capture.collector import Collector
from cupti_etl.capture.loss import emitted
from cupti_etl.capture.segment import FINISHED, RECORDS, STRINGS, Process

HERE = Path(__file__).parent
HELLO = struct.Struct("<QIi512s")
MAGIC = 0x314F4C4C45484C45
LAYOUTS = Bench("13.0.85").layouts
SLOTS = 92
FORGET = 4


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Any:
    ffi = FFI()
    ffi.cdef(
        "void target_select(uint32_t); int target_create(uint64_t, uint32_t);"
        "int target_publish_small(const uint8_t *, uint32_t, uint64_t);"
        "void target_stride(uint32_t, uint32_t);"
        "int target_publish(const uint8_t *, uint32_t, uint32_t, uint64_t);"
        "int target_hold(void); int target_free_slots(void); void target_state(uint32_t);"
    )
    out = tmp_path_factory.mktemp("target") / "target_shim.so"
    sources = [HERE / "target_shim.c", *native_sources("segment")]
    return ffi.dlopen(str(compile_c(out, "-shared", *sources)))


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def connect(collector: Collector) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(collector.settings["SOCKET"])
    return client


def hello(reason: bytes = b"", magic: int = MAGIC, version: int = 1) -> bytes:
    return HELLO.pack(magic, version, os.getpid(), reason)


def send(collector: Collector, data: bytes, *fds: int) -> socket.socket:
    """Say hello; our own copies of the descriptors are closed, as the target's are not needed."""
    client = connect(collector)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    client.sendmsg([data], rights)
    for fd in fds:
        os.close(fd)
    collector.drain()
    return client


def descriptors() -> int:
    gc.collect()  # what other tests have left is not ours to count
    return len(list(Path("/proc/self/fd").iterdir()))


def target(shim: Any, collector: Collector, process_id: int = 9) -> socket.socket:
    fd = shim.target_create(process_id, 130000)
    shim.target_stride(KERNEL, LAYOUTS[KERNEL]["size"])
    return send(collector, hello(), fd)


def publish_kernels(shim: Any, name: bytes, count: int) -> None:
    entry = string_entry(name)
    assert shim.target_publish(entry, len(entry), STRINGS, 0) >= 0
    records = pack(KERNEL, LAYOUTS[KERNEL], start=5, end=6, name=key(name)) * count
    assert shim.target_publish(records, len(records), RECORDS, count) >= 0


def rows(collector: Collector, table: str) -> list[dict[str, Any]]:
    batches = [batch for name, batch in collector.batches(everything=True) if name == table]
    return [row for batch in batches for row in batch.to_pylist()]


def test_no_name_holds_up_a_record(
    shim: Any, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernels, and those of its neighbour, are passed on while it is being demangled."""
    go_on = threading.Event()
    demangle = naming.Demangler.demangle

    def slowly(self: naming.Demangler, name: str) -> str:
        assert go_on.wait(60)
        return demangle(self, name)

    monkeypatch.setattr(naming.Demangler, "demangle", slowly)
    for process_id, name in ((21, bomb(30)), (22, "_Z3fooi")):
        client = target(shim, collector, process_id)
        publish_kernels(shim, name.encode(), 2)
        client.close()
        collector.drain()
    found = list(collector.batches(everything=True))
    assert sum(batch.num_rows for table, batch in found if table == "kernel") == 4
    assert "kernel_name" not in dict(found)
    go_on.set()
    last = dict(collector.batches(everything=True, is_last=True))
    names = {row["mangled"]: row for row in last["kernel_name"].to_pylist()}
    assert names["_Z3fooi"]["demangled"] == "foo(int)"
    assert names[bomb(30)]["short"] == "f"
    lost = [loss for loss in collector.losses() if loss.cause == "not_demangled"]
    assert [(loss.process_id, loss.records) for loss in lost] == [(21, 1)]


def test_texts_are_forgotten_when_the_target_says_so(shim: Any, collector: Collector) -> None:
    client = target(shim, collector)
    publish_kernels(shim, b"first", 1)
    forget = string_entry(b"", flags=FORGET)
    assert shim.target_publish(forget, len(forget), STRINGS, 0) >= 0
    publish_kernels(shim, b"second", 1)
    collector.drain()
    # The batch has its own texts; what comes after it was to use the first no more.
    assert [row["name"] for row in rows(collector, "kernel")] == ["first", "second"]
    stale = pack(KERNEL, LAYOUTS[KERNEL], start=5, end=6, name=key(b"first"))
    assert shim.target_publish(stale, len(stale), RECORDS, 1) >= 0
    client.close()
    collector.drain()
    assert [row["name"] for row in rows(collector, "kernel")] == [None]
    assert collector.traced[0].process.decoded().unresolved_strings == 1


def test_a_target_from_hello_to_its_orderly_end(shim: Any, collector: Collector) -> None:
    client = target(shim, collector)
    assert collector.live == 1
    publish_kernels(shim, b"first", 3)
    collector.drain()
    publish_kernels(shim, b"second", 2)
    shim.target_state(FINISHED)
    client.close()
    collector.drain()
    assert collector.live == 0
    assert [row["name"] for row in rows(collector, "kernel")] == ["first"] * 3 + ["second"] * 2
    (process,) = collector.process_rows()
    assert (process["state"], process["emitted"], process["stored"]) == ("finished", 5, 5)
    assert collector.losses() == []
    # Every slot went back.
    assert shim.target_free_slots() == SLOTS


def test_what_was_published_before_a_kill_is_kept(shim: Any, collector: Collector) -> None:
    client = target(shim, collector)
    publish_kernels(shim, b"last words", 4)
    shim.target_hold()
    client.close()
    collector.drain()
    assert len(rows(collector, "kernel")) == 4
    assert collector.process_rows()[0]["state"] == "killed"
    (loss,) = collector.losses()
    assert loss.cause == "killed"
    assert loss.records is None
    assert loss.start_ns == 1000


def test_processes_that_have_ended_cost_no_more_time(
    shim: Any, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long capture can have thousands of them."""
    for process_id in range(40, 45):
        client = target(shim, collector, process_id)
        publish_kernels(shim, b"of %d" % process_id, 2)
        client.close()
        collector.drain()
    assert len(rows(collector, "kernel")) == 10
    assert collector.rows_and_records() == (10, 10)
    losses, processes = collector.losses(), collector.process_rows()

    def fail(*_: Any) -> None:
        raise AssertionError("it has ended")

    for name in ("info", "windows", "new_windows", "stored", "take_kernel_names"):
        monkeypatch.setattr(Process, name, fail)
    collector.drain()
    assert rows(collector, "kernel") == []
    assert collector.rows_and_records() == (10, 10)
    assert not collector.has_conflict()
    assert (collector.losses(), collector.process_rows()) == (losses, processes)


def test_a_new_kind_comes_with_its_size_while_it_runs(shim: Any, collector: Collector) -> None:
    client = target(shim, collector)
    publish_kernels(shim, b"k", 1)
    collector.drain()
    shim.target_stride(FOREIGN, 24)
    records = pack(FOREIGN, LAYOUTS[FOREIGN]) * 2 + pack(KERNEL, LAYOUTS[KERNEL], start=1, end=2)
    assert shim.target_publish(records, len(records), RECORDS, 3) >= 0
    client.close()
    collector.drain()
    assert len(rows(collector, "kernel")) == 2
    process = collector.traced[0].process
    assert process.unknown() == {FOREIGN: 2}
    assert emitted(process) == 4


def test_two_targets_keep_their_rows_apart(shim: Any, collector: Collector) -> None:
    for process_id in (21, 22):
        client = target(shim, collector, process_id)
        publish_kernels(shim, b"of %d" % process_id, 2)
        client.close()
        collector.drain()
    found = {(row["process_id"], row["name"]) for row in rows(collector, "kernel")}
    assert found == {(21, "of 21"), (22, "of 22")}


def flood(publish: Callable[[], int]) -> None:
    """Publish until no slot is free."""
    assert publish() >= 0
    while publish() >= 0:
        pass


@pytest.mark.parametrize("first", ["flooding", "quiet"])
@pytest.mark.parametrize("small", [False, True], ids=["large", "small"])
def test_one_process_does_not_cost_another_its_turn(
    shim: Any, collector: Collector, first: str, small: bool
) -> None:
    """Of each an equal share is taken in turn, by bytes, however fast one fills its slots."""
    order = (0, 1) if first == "flooding" else (1, 0)
    clients = []
    for which in order:
        shim.target_select(which)
        clients.append(target(shim, collector, 30 + which))
    flooding, quiet = (collector.traced[order.index(which)].process for which in (0, 1))
    record = pack(KERNEL, LAYOUTS[KERNEL], start=5, end=6)
    content = record * ((1 << (16 if small else 20)) // len(record))
    for turn in range(1, 6):
        shim.target_select(0)
        if small:
            flood(lambda: int(shim.target_publish_small(content, len(content), 1)))
        else:
            flood(lambda: int(shim.target_publish(content, len(content), RECORDS, 1)))
        shim.target_select(1)
        assert shim.target_publish(record, len(record), RECORDS, 1) >= 0
        assert collector.drain()
        assert quiet.decoded().slots == turn
        assert flooding.decoded().slots == turn * (64 if small else 9)
    for client in clients:
        client.close()
    while collector.drain():
        pass
    assert collector.live == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no valid greeting"),
        (b"GET / HTTP/1.1\r\n\r\n", "no valid greeting"),
        (hello(magic=1), "no valid greeting"),
        (hello(b"other words", version=2), "greets in version 2, and this cupti-etl in 1"),
        (hello(b"CUPTI is missing"), "CUPTI is missing"),
        (hello(b"\xff\xfe not UTF-8"), "not UTF-8"),
        (hello(b"x" * 512), "x" * 512),
    ],
    ids=["nothing", "http", "magic", "version", "reason", "bytes", "no end"],
)
def test_a_hello_without_a_segment(collector: Collector, data: bytes, words: str) -> None:
    before = descriptors()
    client = connect(collector)
    client.sendall(data)
    client.shutdown(socket.SHUT_WR)
    collector.drain()
    client.close()
    assert collector.live == 0
    (refusal,) = collector.refused
    assert words in refusal.reason
    assert refusal.pid == os.getpid()
    assert descriptors() == before
    (loss,) = collector.losses()
    assert (loss.cause, loss.process_id, loss.records) == ("not_traced", None, None)


def test_descriptors_that_are_no_segment(collector: Collector, tmp_path: Path) -> None:
    before = descriptors()
    plain = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    send(collector, hello(), plain).close()
    send(collector, hello(), *os.pipe()).close()
    send(collector, hello(), os.memfd_create("unsealed", os.MFD_ALLOW_SEALING)).close()
    assert [refusal.reason for refusal in collector.refused] == [
        "the segment is not sealed against shrinking"
    ] * 3
    assert descriptors() == before
    assert collector.live == 0


def test_a_target_that_talks_on_is_still_alive(shim: Any, collector: Collector) -> None:
    client = target(shim, collector)
    client.sendall(b"more")
    for _ in range(6):
        collector.drain()
    assert collector.live == 1
    client.close()
    collector.drain()
    assert collector.live == 0


def test_closing_leaves_nothing_behind() -> None:
    before = descriptors()
    collector = Collector()
    folder = Path(collector.settings["SOCKET"]).parent
    assert folder.stat().st_mode & 0o777 == 0o700
    client = connect(collector)
    collector.close()
    client.close()
    assert not folder.exists()
    assert descriptors() == before
