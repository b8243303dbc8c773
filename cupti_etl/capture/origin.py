"""Whose run a capture is of, and of which version of the code: what tells runs apart later."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/\S+)")
# A link to itself is none.
_DEEPEST = 5


def origin(folder: Path, tags: Mapping[str, str]) -> dict[str, Any]:
    """Columns of ``capture`` about a command that is run in a folder."""
    return {
        "user_name": user_name(),
        "git_commit": git_commit(folder),
        "tags": json.dumps(dict(tags)) if tags else None,
    }


def user_name() -> str | None:
    """Login name of this process's user; None where nobody knows one, as in some containers."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def git_commit(folder: Path) -> str | None:
    """The commit that is checked out in a folder's git repository; None if there is none.

    It is read from the repository's files, so that neither git nor a configuration of it is run.
    """
    try:
        for home in (folder, *folder.parents):
            if (home / ".git").exists():
                return _head(_repository(home / ".git"))
    except (OSError, ValueError):
        pass
    return None


def _repository(git: Path) -> Path:
    """The folder with HEAD; where several work trees share a repository, ``.git`` is a file."""
    if git.is_dir():
        return git
    return git.parent / git.read_text().removeprefix("gitdir:").strip()


def _head(repository: Path) -> str | None:
    shared = repository
    if (repository / "commondir").exists():
        shared = repository / (repository / "commondir").read_text().strip()
    text = (repository / "HEAD").read_text().strip()
    for _ in range(_DEEPEST):
        ref = _REF.fullmatch(text)
        if ref is None:
            return text if _COMMIT.fullmatch(text) else None
        text = _resolved(ref[1], (repository, shared))
    return None


def _resolved(ref: str, homes: tuple[Path, Path]) -> str:
    """What a reference says; "" for one without a commit."""
    for home in homes:
        if (home / ref).is_file():
            return (home / ref).read_text().strip()
    packed = homes[1] / "packed-refs"
    for line in packed.read_text().splitlines() if packed.exists() else ():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""
