"""The fuzz targets with a driver of our own: over the corpus, then for some seconds on.

``make fuzz`` runs them for a minute each, with libFuzzer where clang is.  What a fuzzer
finds becomes a file of the corpus, so that it is tried first from then on.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.shim import compile_c, native_sources

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"
TARGETS = sorted(path.stem for path in HERE.glob("*.c") if path.stem != "driver")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# To look for something, and at most until a planted fault is found.
SECONDS, PATIENCE = 1, 10


def fuzz(folder: Path, target: str, seconds: int, *extra: str) -> subprocess.CompletedProcess[str]:
    sources = [HERE / f"{target}.c", HERE / "driver.c", *native_sources("collector")]
    program = compile_c(folder / target, *SANITIZED, *extra, *sources)
    files = sorted((CORPUS / target).iterdir())
    return subprocess.run(
        [program, str(seconds), "1", *map(str, files)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 60,
    )


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_found(tmp_path: Path, target: str, seconds: int) -> None:
    done = fuzz(tmp_path, target, seconds)
    assert done.returncode == 0, done.stderr[:4000]
    files, mutations = map(int, re.findall(r"\d+", done.stdout))
    assert files == len(list((CORPUS / target).iterdir())) > 5
    assert mutations > 50


@pytest.mark.parametrize("target", TARGETS)
def test_a_planted_fault_is_found(tmp_path: Path, target: str) -> None:
    done = fuzz(tmp_path, target, PATIENCE, "-DPLANT_BUG")
    assert done.returncode != 0
    assert (tmp_path / "crash").stat().st_size > 0


def test_the_corpus_is_small() -> None:
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 200_000
