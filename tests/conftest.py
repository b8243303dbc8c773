"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import in_memory, leftovers
from support.fake_build import CACHE
from support.fakes import Fakes

# A shell starts background jobs with SIGINT ignored, and every program that the tests start
# would inherit that; some of them are to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Of a toolkit, CUPTI would be found before the fake one.
for _name in ("CUDA_HOME", "CUDA_PATH"):
    os.environ.pop(_name, None)
# What is kept for this user is none of the tests' business.
os.environ["XDG_CACHE_HOME"] = str(CACHE / "user")
# Hundreds of commands start; each would compile its modules where no bytecode is to be written
# beside them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = str(CACHE / "bytecode")
# So would each worker all files of tests, which takes most of the time in which they are collected.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]
leftovers.mark()
if _home := in_memory.home():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _home)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left() -> Iterator[None]:
    """Whatever the tests of a file have started has ended, or is killed."""
    yield
    leftovers.check_nothing_is_left()


@pytest.fixture(scope="session")
def fakes() -> Fakes:
    """The fake driver, CUPTIs and program; each is compiled when first asked for."""
    return Fakes()


@pytest.fixture
def without_trace_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports leave that file out, which takes half the time of a small one.

    test_real_files has it.
    """
    from cupti_etl.imports import run

    monkeypatch.setattr(run, "_link", lambda folder: None)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the migrations, to which tests may add."""
    from cupti_etl.schema import revisions
    from cupti_etl.storage import migrations as migrate

    path = tmp_path / "migrations"
    shutil.copytree(revisions.migrations_path(), path)
    for module in (migrate, revisions):
        monkeypatch.setattr(module, "migrations_path", lambda: path)
    return path / "versions"


# --- slow tests: what CI runs, and who changes a line need not


_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that are slow, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked slow, unless it is asked for: all of it, or by its name."""
    if config.getoption("slow") or "slow" in config.option.markexpr:
        return
    named = [word for word in config.args if "::" in word]
    slow = {item for item in items if item.get_closest_marker("slow") and not named}
    items[:] = [item for item in items if item not in slow]
    config.stash[_LEFT_OUT] = len(slow)
    config.hook.pytest_deselected(items=list(slow))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # What is collected stays, and each worker collects all tests: to look for garbage meanwhile
    # would take a sixth of the time.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    # Thousands of tests, which stay: else each collection of garbage looks at all of them.
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    # What is frozen at the end of the interpreter counts as a leak.
    gc.unfreeze()
    # In a worker of xdist: for the process that writes the summary.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    # Each worker has collected the same tests.
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left_out := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(
            f"{left_out} slow tests were left out: `make test ALL=1` runs them, as CI does"
        )
