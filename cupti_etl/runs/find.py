"""Which traces lie below a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.errors import TraceError
from cupti_etl.schema.arrow import SCHEMA_VERSION
from cupti_etl.storage.bucket import Url, look
from cupti_etl.storage.sources import all_part_files, is_of_host, part_files
from cupti_etl.storage.state import state_bytes, state_of

# Folders of a trace, below which there is no other; a capture's table is in each of them.
_DEEPEST = 6
# The views over a folder, which lie in it.
_VIEWS = "trace.duckdb"


@dataclass(frozen=True)
class Run:
    """A trace that was found.

    Attributes:
        name: its path below the folder.
        path: its place.
        digest: of the names, sizes and times of its files; another one where it was written to.
        bytes: of these files.
    """

    name: str
    path: Path
    digest: str
    bytes: int


def find(home: Path) -> list[Run]:
    """The traces below a folder, or the one that it is, in the order of their names.

    What several hosts wrote into one place is one trace.  Of a bucket, all names are listed at
    once.

    Raises:
        TraceError: there is no such folder, or it cannot be read.
    """
    if isinstance(home, Url):
        look(home)
    if not home.is_dir():
        raise TraceError(
            f"{home} is no folder", "give the folder, or the place in a bucket, that has the traces"
        )
    return sorted(_below(home, home, _DEEPEST), key=lambda run: run.name)


def _below(home: Path, folder: Path, depth: int) -> Iterator[Run]:
    if part_files(folder / "capture"):
        yield _run(home, folder, [folder])
        return
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    hosts = [each for each in inside if is_of_host(each)]
    if hosts:
        yield _run(home, folder, hosts)
        return
    for each in inside:
        if each.name.startswith(".") or each.is_symlink():
            continue
        if each.suffix == ".duckdb" and each.name != _VIEWS and each.is_file():
            yield _run(home, each, [each])
        elif depth and each.is_dir():
            yield from _below(home, each, depth - 1)


def _run(home: Path, path: Path, places: list[Path]) -> Run:
    files = [
        file
        for place in places
        for file in ([place] if place.suffix == ".duckdb" else all_part_files(place))
    ]
    state = state_of(files)
    # A folder that was moved with all of its traces is the same.
    names = [(os.path.relpath(name, home), *rest) for name, *rest in state]
    digest = hashlib.sha256(repr((SCHEMA_VERSION, names)).encode()).hexdigest()[:16]
    name = path.name if path == home else str(path.relative_to(home))
    return Run(name, path, digest, state_bytes(state))
