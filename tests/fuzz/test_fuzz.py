"""The fuzz targets with a driver of our own: over the corpus, then over some mutations of it.

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
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# About five seconds' worth on an idle machine.
MUTATIONS = {"decode": 10_000, "segment": 2000, "strings": 5000}


def fuzz(
    folder: Path, target: str, mutations: int, *extra: str
) -> subprocess.CompletedProcess[str]:
    sources = [HERE / f"{target}.c", HERE / "driver.c", *native_sources("collector")]
    program = compile_c(folder / target, *SANITIZED, *extra, *sources)
    files = sorted((CORPUS / target).iterdir())
    return subprocess.run(
        [program, "0", str(mutations), "1", *map(str, files)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_every_target_is_run() -> None:
    assert {path.stem for path in HERE.glob("*.c")} == {"driver", *MUTATIONS}


@pytest.mark.slow
@pytest.mark.parametrize("target", MUTATIONS)
def test_nothing_is_found(tmp_path: Path, target: str) -> None:
    done = fuzz(tmp_path, target, MUTATIONS[target])
    assert done.returncode == 0, done.stderr[:4000]
    files, mutations = map(int, re.findall(r"\d+", done.stdout))
    assert files == len(list((CORPUS / target).iterdir())) > 5
    assert mutations == MUTATIONS[target]


@pytest.mark.slow
@pytest.mark.parametrize("target", MUTATIONS)
def test_a_planted_fault_is_found(tmp_path: Path, target: str) -> None:
    done = fuzz(tmp_path, target, 2 * MUTATIONS[target], "-DPLANT_BUG")
    assert done.returncode != 0
    assert (tmp_path / "crash").stat().st_size > 0


def test_the_corpus_is_small() -> None:
    assert sum(file.stat().st_size for file in CORPUS.rglob("*") if file.is_file()) < 200_000
