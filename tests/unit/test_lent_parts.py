"""Parts of a trace that are shared: how long each stays open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import pytest

from cupti_etl.errors import UsageError
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.lent_parts import LentParts

ONE, TWO, THREE = (Scope(steps=number) for number in (1, 2, 3))


class Part:
    """Knows whether it was closed."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def asked(parts: LentParts[Part], scope: Scope, state: object = "") -> Part:
    with parts.lease(scope, state, Part) as part:
        assert not part.closed
        return part


def test_the_last_two_stay_open() -> None:
    parts: LentParts[Part] = LentParts()
    one, two = asked(parts, ONE), asked(parts, TWO)
    assert asked(parts, ONE) is one
    assert asked(parts, THREE).scope == THREE
    assert (one.closed, two.closed) == (0, 1)
    assert asked(parts, TWO) is not two
    assert one.closed == 1


def test_what_is_read_is_closed_thereafter() -> None:
    parts: LentParts[Part] = LentParts()
    with ExitStack() as stack:
        first = stack.enter_context(parts.lease(ONE, "", Part))
        for scope in (TWO, THREE):
            asked(parts, scope)
        assert first.closed == 0
        with parts.lease(ONE, "", Part) as again:
            assert again is not first
        parts.close()
        assert (first.closed, again.closed) == (0, 1)
    assert first.closed == 1


def test_of_a_trace_that_has_grown_it_is_opened_anew() -> None:
    parts: LentParts[Part] = LentParts()
    before = asked(parts, ONE, "one part")
    assert asked(parts, ONE, "two parts") is not before
    assert before.closed == 1


def test_what_cannot_be_opened_is_tried_again() -> None:
    parts: LentParts[Part] = LentParts()

    def fail(scope: Scope) -> Part:
        raise UsageError("there is no step 1")

    for _ in range(2):
        with pytest.raises(UsageError, match="no step 1"), parts.lease(ONE, "", fail):
            pass
    assert asked(parts, ONE).scope == ONE


def test_who_asks_at_once_shares_one() -> None:
    parts: LentParts[Part] = LentParts()
    together = Barrier(4)

    def ask(_: int) -> Part:
        together.wait(60)
        with parts.lease(ONE, "", Part) as part:
            together.wait(60)
            return part

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
