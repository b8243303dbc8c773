"""Imports that end before there is a trace: a file under two names, a signal."""

from __future__ import annotations

import gzip
import shutil
import signal
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from imports.conftest import event, kineto, nsys
from imports.test_nsys import KERNEL, STRINGS, as_parquetdir

from cupti_etl.commands._writing import convert
from cupti_etl.errors import ForeignError, UsageError
from cupti_etl.imports import run as importing
from cupti_etl.imports.kineto.reader import Kineto
from cupti_etl.imports.run import import_traces

PLACE = {"device": 0, "context": 1, "stream": 7}


def _symlink(file: Path, other: Path) -> None:
    other.symlink_to(file)


def _hard_link(file: Path, other: Path) -> None:
    other.hardlink_to(file)


def _copy(file: Path, other: Path) -> None:
    shutil.copytree(file, other) if file.is_dir() else shutil.copy(file, other)


def _compress(file: Path, other: Path) -> None:
    other.write_bytes(gzip.compress(file.read_bytes()))


@pytest.mark.parametrize("again", [_symlink, _hard_link, _copy, _compress])
def test_a_file_under_two_names(tmp_path: Path, again: Callable[[Path, Path], None]) -> None:
    file = kineto(tmp_path / "a.json", event("kernel", "k", 1e15, 5, **PLACE))
    other = tmp_path / "b.json"
    again(file, other)
    with pytest.raises(UsageError, match=r"b\.json is ") as raised:
        import_traces([file, other], tmp_path / "trace", 1)
    assert raised.value.hint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_a_folder_under_two_names(tmp_path: Path) -> None:
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL, "StringIds": STRINGS}
    folder = as_parquetdir(nsys(tmp_path / "t.sqlite", **tables), tmp_path / "a")
    _copy(folder, tmp_path / "b")
    with pytest.raises(UsageError, match="is the same as"):
        import_traces([folder, tmp_path / "b"], tmp_path / "trace", 1)


def test_an_import_that_fails_leaves_no_folder(tmp_path: Path) -> None:
    bad = kineto(tmp_path / "bad.json", event("v8", "f", 1, 5))
    with pytest.raises(ForeignError, match="holds no event"):
        import_traces([bad], tmp_path / "a" / "b" / "trace", 1)
    assert list(tmp_path.iterdir()) == [bad]


def test_ranks_of_the_same_size_are_two_files(tmp_path: Path) -> None:
    files = [
        kineto(tmp_path / f"{rank}.json", event("kernel", f"k{rank}", 1e15, 5, **PLACE))
        for rank in (0, 1)
    ]
    assert files[0].stat().st_size == files[1].stat().st_size
    assert import_traces(files, tmp_path / "trace", 1).rows["kernel"] == 2


def _while_reading(monkeypatch: pytest.MonkeyPatch, send: Callable[[], None]) -> None:
    batches = Kineto.batches

    def read(source: Kineto) -> Iterator[Any]:
        for each in batches(source):
            send()
            yield each

    monkeypatch.setattr(Kineto, "batches", read)


def _around(where: str, name: str, *, after: bool) -> Callable[..., None]:
    def patch(monkeypatch: pytest.MonkeyPatch, send: Callable[[], None]) -> None:
        module = importing._Hidden if where == "importing" else import_module(where)
        before = getattr(module, name)

        def function(*args: Any, **kwargs: Any) -> Any:
            if not after:
                send()
            result = before(*args, **kwargs)
            if after:
                send()
            return result

        monkeypatch.setattr(module, name, function)

    return patch


# Migrations take more than a second.
SLOW = {True: (pytest.mark.slow,), False: ()}
STAGES = {
    "reading": _while_reading,
    "finishing": _around("importing", "finish", after=False),
    "its name": _around("cupti_etl.queries.trace_duckdb", "write_trace_duckdb", after=False),
    "the last file": _around("cupti_etl.queries.trace_duckdb", "write_trace_duckdb", after=True),
    "converting": _around("cupti_etl.render.duckdb_file", "convert", after=True),
}


@pytest.mark.parametrize(
    "stage", [pytest.param(each, marks=SLOW[each == "converting"]) for each in STAGES]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, number: signal.Signals
) -> None:
    file = kineto(tmp_path / "a.json", event("kernel", "k", 1e15, 5, **PLACE))
    out = tmp_path / ("trace.duckdb" if stage == "converting" else "trace")
    # Twice, as who is in a hurry does.
    STAGES[stage](monkeypatch, lambda: [signal.raise_signal(number) for _ in "12"])
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda got, _: came.append(got))
    try:
        with pytest.raises(KeyboardInterrupt):
            import_traces([file], out, 1, convert=convert)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ([signal.SIGTERM] if number == signal.SIGTERM else [])
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
