"""The pytest plugin: compares what a test does on the GPU with a baseline of the same test.

pytest loads this module wherever cupti-etl is installed, so it imports nothing of ours: what
compares is loaded if a baseline is asked for.  PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import os

    from cupti_etl.inprocess.capture import Capture

_NAME = "cupti-etl-baselines"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("cupti-etl", "GPU work of tests (cupti-etl)")
    group.addoption(
        "--cupti-etl-baseline",
        metavar="DIR",
        help="Compare the GPU work of tests that use cupti_trace or cupti_compare with the"
        " baselines in DIR; fail those that became slower.",
    )
    group.addoption(
        "--cupti-etl-update",
        action="store_true",
        help="Replace the baselines in DIR by the runs of these tests.",
    )
    group.addoption(
        "--cupti-etl-add",
        action="store_true",
        help="Add the runs of these tests to the baselines in DIR: they show how much equal runs"
        " differ.",
    )
    group.addoption(
        "--cupti-etl-min-effect",
        type=float,
        metavar="SHARE",
        help="Smallest change that counts, as `cupti-etl diff --min-effect`.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load what compares, if a baseline is asked for."""
    config.addinivalue_line(
        "markers",
        "cupti_trace(min_effect=None, **options): the smallest change of GPU work that counts, and"
        " options of cupti_etl.capture for the fixture cupti_trace",
    )
    given = config.option
    if given.cupti_etl_baseline is not None:
        from cupti_etl.testing.comparing import Comparing

        config.pluginmanager.register(Comparing(config), _NAME)
    elif given.cupti_etl_update or given.cupti_etl_add:
        raise pytest.UsageError(
            "--cupti-etl-update and --cupti-etl-add need --cupti-etl-baseline DIR: where to write"
        )


class NotCaptured:
    """Takes the place of a capture where no baseline is asked for."""

    def pause(self) -> None:
        """Nothing is recorded anyway."""

    def resume(self) -> None:
        """Nothing is recorded here, either."""

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Nothing is recorded inside of the block, either."""
        yield


@pytest.fixture
def cupti_trace(request: pytest.FixtureRequest) -> Capture | NotCaptured:
    """Captures what the test does on the GPU, and compares it with the baseline of the test.

    What fixtures do is not in it.  Its methods ``pause``, ``resume`` and ``recording`` choose what
    is recorded.  Without ``--cupti-etl-baseline`` nothing is captured.
    """
    comparing = request.config.pluginmanager.get_plugin(_NAME)
    return NotCaptured() if comparing is None else comparing.capture(request)


@pytest.fixture
def cupti_compare(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compares traces that the test made itself with its baseline: ``cupti_compare("run42")``.

    Several traces are equal runs.  Without ``--cupti-etl-baseline`` nothing is compared.
    """
    comparing = request.config.pluginmanager.get_plugin(_NAME)
    if comparing is not None:
        comparing.begin(request.node)

    def compare(*traces: str | os.PathLike[str]) -> None:
        if comparing is not None:
            comparing.compare(request.node, traces)

    return compare
