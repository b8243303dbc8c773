"""Which commit is checked out, by the files of a git repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cupti_etl.capture.origin import git_commit, origin, user_name

ONE, TWO = "1" * 40, "2" * 64


@pytest.fixture
def git(tmp_path: Path) -> Path:
    home = tmp_path / "code/.git"
    home.mkdir(parents=True)
    (home / "HEAD").write_text("ref: refs/heads/main\n")
    return home


def reference(git: Path, name: str, text: str) -> None:
    (git / name).parent.mkdir(parents=True, exist_ok=True)
    (git / name).write_text(f"{text}\n")


def test_a_branch(git: Path) -> None:
    reference(git, "refs/heads/main", ONE)
    (git.parent / "a/b").mkdir(parents=True)
    assert git_commit(git.parent) == git_commit(git.parent / "a/b") == ONE


def test_a_packed_branch(git: Path) -> None:
    (git / "packed-refs").write_text(
        f"# pack-refs with: peeled\n{ONE} refs/heads/other\n{TWO} refs/heads/main\n^{ONE}\n"
    )
    assert git_commit(git.parent) == TWO


def test_no_branch(git: Path) -> None:
    (git / "HEAD").write_text(f"{ONE}\n")
    assert git_commit(git.parent) == ONE


def test_a_work_tree(git: Path, tmp_path: Path) -> None:
    reference(git, "refs/heads/topic", TWO)
    reference(git, "worktrees/topic/HEAD", "ref: refs/heads/topic")
    reference(git, "worktrees/topic/commondir", "../..")
    tree = tmp_path / "topic"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {git / 'worktrees/topic'}\n")
    assert git_commit(tree) == TWO


@pytest.mark.parametrize(
    "head",
    ["ref: refs/heads/circle", "ref: refs/heads/unborn", "ref: ../../secret", "nonsense", ""],
)
def test_what_has_no_commit(git: Path, head: str) -> None:
    reference(git, "refs/heads/circle", "ref: refs/heads/circle")
    (git / "HEAD").write_text(head)
    assert git_commit(git.parent) is None


def test_no_repository(git: Path) -> None:
    (git / "HEAD").unlink()
    assert git_commit(git.parent) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_writes(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        done = subprocess.run(
            ["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    run("init", "-q")
    run("commit", "-q", "--allow-empty", "-m", "one")
    assert git_commit(tmp_path) == run("rev-parse", "HEAD")
    run("pack-refs", "--all")
    assert git_commit(tmp_path) == run("rev-parse", "HEAD")


def test_tags_are_a_json_object(git: Path) -> None:
    nothing = {"user_name": user_name(), "git_commit": None, "tags": None}
    assert origin(git.parent, {}) == nothing
    assert origin(git.parent, {"model": 'a"b', "n": "1"})["tags"] == '{"model": "a\\"b", "n": "1"}'
