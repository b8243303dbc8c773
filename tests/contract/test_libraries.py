"""The compiled libraries: their tables, their symbols, and the systems they load on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.shim import compile_c

from cupti_etl.capture.decoder import Decoder
from cupti_etl.native.loader import FOLDER, load
from cupti_etl.schema.arrow import arrow_schema, batch_schema
from cupti_etl.schema.fingerprint import fingerprint
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Kind
from tools.codegen.__main__ import ROOT
from tools.codegen.compiled import compiled
from tools.codegen.headers import load_facts

INJECTOR = FOLDER / "libcupti_etl_inject.so"
COLLECTOR = FOLDER / "libcupti_etl.so"


def symbols(library: Path, which: str) -> list[str]:
    done = subprocess.run(
        ["nm", "-D", f"--{which}-only", library], capture_output=True, text=True, check=True
    )
    return sorted(line.split()[-1] for line in done.stdout.splitlines())


def of_nvidia(names: list[str]) -> list[str]:
    return [name for name in names if re.match(r"(cu[A-Z]|cuda|cupti|nvtx)", name)]


def too_new(names: list[str], newest: tuple[int, int] = (2, 28)) -> list[str]:
    found = []
    for name in names:
        match = re.search(r"@GLIBC_(\d+)\.(\d+)", name)
        if match and (int(match[1]), int(match[2])) > newest:
            found.append(name)
    return found


def test_injector_exports_its_entries_and_nothing_else() -> None:
    folder = ROOT / "native" / "include" / "etl"
    headers = [(folder / name).read_text() for name in ("callbacks.h", "inside.h")]
    ours = re.findall(r"\b(cupti_etl_\w+)\(", "".join(headers))
    plugin = [f"ncclProfiler_v{version}" for version in range(1, 8)]
    expected = ["InitializeInjection", "InitializeInjectionNvtx2", *ours, *plugin]
    assert symbols(INJECTOR, "defined") == sorted(expected)


def test_collector_exports_only_its_own() -> None:
    names = symbols(COLLECTOR, "defined")
    assert len(names) > 10
    assert [name for name in names if not name.startswith("etl_")] == []


@pytest.mark.parametrize("library", [INJECTOR, COLLECTOR], ids=["injector", "collector"])
def test_nothing_of_nvidia_is_linked(library: Path) -> None:
    assert of_nvidia(symbols(library, "undefined")) == []


@pytest.mark.parametrize("library", [INJECTOR, COLLECTOR], ids=["injector", "collector"])
def test_loads_on_older_systems(library: Path) -> None:
    assert too_new(symbols(library, "undefined")) == []


def test_a_leak_is_seen(tmp_path: Path) -> None:
    """What nm says of a library without our visibility, linked to the driver."""
    source = "int cuInit(int); int helper(void); int helper(void) { return cuInit(0); }"
    (tmp_path / "leak.c").write_text(source)
    library = tmp_path / "leak.so"
    compile_c(library, "-shared", "-fvisibility=default", tmp_path / "leak.c")
    assert symbols(library, "defined") == ["helper"]
    assert of_nvidia(symbols(library, "undefined")) == ["cuInit"]


def test_a_newer_symbol_is_seen() -> None:
    assert too_new(["dlopen@GLIBC_2.34", "memcpy@GLIBC_2.14"]) == ["dlopen@GLIBC_2.34"]


def test_libraries_were_built_from_this_specification() -> None:
    """Of both: whatever else loads would still refuse a process of another injector."""
    _, lib = load()
    digest = compiled(ROOT / "native" / "include" / "etl", KINDS, load_facts())
    ours = fingerprint(KINDS, digest)
    assert lib.etl_fingerprint() == ours
    assert ours.to_bytes(8, "little") in INJECTOR.read_bytes()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.table)
def test_batches_have_the_columns_of_the_specification(kind: Kind) -> None:
    decoder = Decoder()
    table = decoder.tables.index(kind.table)
    batch = decoder.take(table)
    batch.validate(full=True)
    assert batch.num_rows == 0
    assert batch.schema.equals(batch_schema(decoder.tables[table]))
    assert batch.schema.names == arrow_schema(kind.table).names
    _, lib = load()
    kinds = {number for number in range(-1, 130) if lib.etl_table_of_kind(number) == table}
    facts = load_facts()["enumerators"]
    assert kinds == {facts[f"CUPTI_ACTIVITY_KIND_{name}"] for name in kind.fed_by}


@pytest.mark.slow
def test_a_warning_is_an_error_in_development(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "native/build.py", "-o", tmp_path],
        # The compiler warns before it makes code, which takes most of its time.
        env={**os.environ, "CC": "cc -Wpadded -fsyntax-only"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "[-Werror=padded]" in done.stderr


@pytest.mark.slow
def test_make_compiles_both_at_once_when_what_they_are_made_of_is_newer() -> None:
    parts = [each for each in (ROOT / "native").rglob("*.*") if each.suffix not in (".py", ".pyc")]
    assert {each.suffix for each in parts} == {".c", ".h", ".inc", ".map"}
    for part in {each.suffix: each.relative_to(ROOT) for each in parts}.values():
        make = ["make", "--dry-run", "--jobs", "2", "--what-if", part, "native"]
        done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.count("native/build.py") == 1, part
