"""What the pytest plugin does where a baseline is asked for."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cupti_etl.errors import EtlError
from cupti_etl.inprocess.capture import Capture
from cupti_etl.testing.baseline import Baseline, Outcome

_CAPTURE = pytest.StashKey[Capture]()
_COMPARED = pytest.StashKey[bool]()
# Properties of a test's report, which travel from workers of pytest-xdist and into JUnit's XML.
_PROPERTY = "cupti_etl_"
# The argument of the marker that is none of a capture's.
_MIN_EFFECT = "min_effect"
# What goes without saying where all is well.
_USUAL = ("none", "kept")


class Comparing:
    """Hooks that capture tests, compare them with their baselines, and tell what was found.

    Args:
        config: pytest's, with our options.

    Raises:
        UsageError: of pytest: the options cannot be.
    """

    def __init__(self, config: pytest.Config) -> None:
        given = config.option
        self._given = given.cupti_etl_baseline
        self._folder = Path(config.invocation_params.dir, self._given)
        self._adds, self._updates = given.cupti_etl_add, given.cupti_etl_update
        self._min_effect = given.cupti_etl_min_effect
        self._workers = getattr(config, "workerinput", {}).get("workercount", 1)
        if self._adds and self._updates:
            raise pytest.UsageError("--cupti-etl-update replaces runs and --cupti-etl-add adds one")
        if not (self._adds or self._updates or self._folder.is_dir()):
            raise pytest.UsageError(
                f"there are no baselines in {self._folder}: --cupti-etl-update writes them"
            )

    # ---- for the fixtures

    def begin(self, item: pytest.Item) -> None:
        """A test begins, perhaps once more."""
        item.stash[_COMPARED] = False

    def capture(self, request: pytest.FixtureRequest) -> Capture:
        """The capture of a test, which begins with the test itself and ends with it."""
        item = request.node
        self.begin(item)
        options = {name: value for name, value in _marked(item).items() if name != _MIN_EFFECT}
        folder = request.getfixturevalue("tmp_path_factory").mktemp("cupti-etl")
        captured = item.stash[_CAPTURE] = Capture(folder / "run", **options)
        return captured

    def compare(self, item: pytest.Item, traces: Sequence[str | os.PathLike[str]]) -> None:
        """Compare runs of a test with its baseline, or make them its baseline.

        Args:
            item: the test, which fails if it became slower.
            traces: the runs.
        """
        if item.stash[_COMPARED]:
            pytest.fail(
                "a test is compared once: give cupti_compare all runs, and use either it or"
                " cupti_trace",
                pytrace=False,
            )
        if not traces:
            pytest.fail("cupti_compare needs the path of a trace", pytrace=False)
        item.stash[_COMPARED] = True
        paths = [Path(each) for each in traces]
        baseline = Baseline(self._folder, item.nodeid)
        try:
            outcome = self._outcome(item, baseline, paths)
        except EtlError as error:
            raise pytest.fail.Exception(_told(error), pytrace=False) from None
        _tell(item, outcome)
        if outcome.verdict == "regress":
            note = f"note: {outcome.note}\n" if outcome.note else ""
            pytest.fail(
                f"slower than its baseline: {outcome.why}\n"
                f"{note}  {_command(baseline.runs, paths)}",
                pytrace=False,
            )

    def _outcome(self, item: pytest.Item, baseline: Baseline, traces: Sequence[Path]) -> Outcome:
        is_kept = self._adds or self._updates
        if self._workers > 1:
            why = f"{self._workers} tests ran at a time, which slows each"
            return Outcome("not kept" if is_kept else "cannot tell", why, "run them with -n 0")
        if is_kept:
            return baseline.keep(traces, replace=self._updates)
        return baseline.compare(traces, _marked(item).get(_MIN_EFFECT, self._min_effect))

    # ---- hooks of pytest

    # Innermost, so that what other plugins do around a test is not captured.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Capture the test itself, without its fixtures."""
        captured = item.stash.get(_CAPTURE, None)
        if captured is None:
            return (yield)
        del item.stash[_CAPTURE]
        with ExitStack() as stack:
            try:
                stack.enter_context(captured)
            except EtlError as error:
                raise pytest.fail.Exception(_told(error), pytrace=False) from None
            result = yield
        if captured.problem is not None:
            _tell(item, Outcome("cannot tell", f"not all was captured: {captured.problem}"))
        elif captured.path is not None:
            self.compare(item, [captured.path])
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was found of the tests, and why."""
        found = list(_outcomes(terminalreporter.stats))
        if not found:
            return
        terminalreporter.section(f"GPU work of tests, and their baselines in {self._given}")
        for test, outcome in found:
            if outcome.verdict not in _USUAL or terminalreporter.config.option.verbose > 0:
                terminalreporter.write_line(f"{outcome.verdict}: {test}: {outcome.why}")
                if outcome.note:
                    terminalreporter.write_line(f"    {outcome.note}")
        counts = Counter(outcome.verdict for _, outcome in found)
        terminalreporter.write_line(", ".join(f"{n} {each}" for each, n in sorted(counts.items())))


def _marked(item: pytest.Item) -> Mapping[str, Any]:
    marker = item.get_closest_marker("cupti_trace")
    return marker.kwargs if marker else {}


def _tell(item: pytest.Item, outcome: Outcome) -> None:
    item.user_properties += [(_PROPERTY + name, text) for name, text in vars(outcome).items()]


def _outcomes(stats: Mapping[str, Iterable[object]]) -> Iterator[tuple[str, Outcome]]:
    """The tests of which something was told, with it."""
    for report in (each for reports in stats.values() for each in reports):
        if isinstance(report, pytest.TestReport) and report.when == "call":
            told = {name.removeprefix(_PROPERTY): text for name, text in report.user_properties}
            if "verdict" in told:
                yield report.nodeid, Outcome(*(str(told[each.name]) for each in fields(Outcome)))


def _told(error: EtlError) -> str:
    return f"{error.message}\n  {error.hint}" if error.hint else error.message


def _command(before: Sequence[Path], after: Sequence[Path]) -> str:
    """The command that shows more."""
    words = ["cupti-etl", "diff", before[0], after[0]]
    for option, more in (("--before", before[1:]), ("--after", after[1:])):
        words += [word for path in more for word in (option, path)]
    return shlex.join(map(str, words))
