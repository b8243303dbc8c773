"""The ring against a queue of the standard library, and against nonsense in its memory."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shim import compile_c

HERE = Path(__file__).parent
# The queue needs two cells at least; a segment has 32 and more.
SIZES = (2, 4, 8, 64)
WORDS = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(0, 200), st.integers(2**64 - 200, 2**64 - 1)
)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out = tmp_path_factory.mktemp("ring") / "ring_shim.so"
    ffi = FFI()
    ffi.cdef(
        "int shim_cells(void); void shim_init(uint64_t); int shim_push(uint64_t);"
        "int shim_pop(uint64_t *); void shim_scribble(int, uint64_t);"
    )
    library = ffi.dlopen(str(compile_c(out, "-shared", HERE / "ring_shim.c")))

    class Ring:
        init, push, scribble = library.shim_init, library.shim_push, library.shim_scribble
        cells = library.shim_cells()

        @staticmethod
        def pop() -> int | None:
            value = ffi.new("uint64_t *")
            return int(value[0]) if library.shim_pop(value) else None

    return Ring()


@settings(max_examples=200, deadline=None)
@given(
    size=st.sampled_from(SIZES),
    steps=st.lists(st.one_of(st.none(), st.integers(0, 2**64 - 1)), max_size=300),
)
def test_a_ring_is_a_bounded_queue(ring: Any, size: int, steps: list[int | None]) -> None:
    """``None`` pops, a number is pushed."""
    model: deque[int] = deque()
    ring.init(size)
    for value in steps:
        if value is None:
            assert ring.pop() == (model.popleft() if model else None)
        else:
            assert ring.push(value) == (len(model) < size)
            if len(model) < size:
                model.append(value)
    assert [ring.pop() for _ in range(len(model))] == list(model)
    assert ring.pop() is None


@settings(max_examples=300, deadline=None)
@given(
    size=st.sampled_from(SIZES),
    scribbles=st.lists(st.tuples(st.integers(0, 65), WORDS), max_size=80),
    pushes=st.integers(0, 70),
)
def test_scribbles_neither_hang_it_nor_make_it_endless(
    ring: Any, size: int, scribbles: list[tuple[int, int]], pushes: int
) -> None:
    ring.init(size)
    for value in range(pushes):
        ring.push(value)
    for what, word in scribbles:
        ring.scribble(what, word)
    # A collector that empties a ring nobody pushes to must come to an end: no cell can
    # give more than one value between two pushes.
    assert sum(ring.pop() is not None for _ in range(2 * ring.cells)) <= size
    assert sum(ring.push(1) for _ in range(2 * ring.cells)) <= size
