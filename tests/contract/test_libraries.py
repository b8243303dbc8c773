"""The compiled libraries: their tables, their symbols, and the systems they load on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cupti_etl.capture.decode import Decoder, batch_schema
from cupti_etl.capture.native import FOLDER
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.schema.kinds import KINDS

INJECTOR = FOLDER / "libcupti_etl_inject.so"
COLLECTOR = FOLDER / "libcupti_etl.so"


def symbols(library: Path, which: str) -> list[str]:
    done = subprocess.run(
        ["nm", "-D", f"--{which}-only", library], capture_output=True, text=True, check=True
    )
    return [line.split()[-1] for line in done.stdout.splitlines()]


def too_new(names: list[str], newest: tuple[int, int] = (2, 28)) -> list[str]:
    found = []
    for name in names:
        match = re.search(r"@GLIBC_(\d+)\.(\d+)", name)
        if match and (int(match[1]), int(match[2])) > newest:
            found.append(name)
    return found


def test_injector_exports_its_entries_and_nothing_else() -> None:
    assert symbols(INJECTOR, "defined") == ["InitializeInjection", "InitializeInjectionNvtx2"]


def test_collector_exports_only_its_own() -> None:
    names = symbols(COLLECTOR, "defined")
    assert len(names) > 10
    assert [name for name in names if not name.startswith("etl_")] == []


@pytest.mark.parametrize("library", [INJECTOR, COLLECTOR], ids=["injector", "collector"])
def test_nothing_of_nvidia_is_linked(library: Path) -> None:
    names = symbols(library, "undefined")
    assert [name for name in names if re.match(r"(cu[A-Z]|cuda|cupti|nvtx)", name)] == []


@pytest.mark.parametrize("library", [INJECTOR, COLLECTOR], ids=["injector", "collector"])
def test_loads_on_older_systems(library: Path) -> None:
    assert too_new(symbols(library, "undefined")) == []


def test_a_newer_symbol_is_seen() -> None:
    assert too_new(["dlopen@GLIBC_2.34", "memcpy@GLIBC_2.14"]) == ["dlopen@GLIBC_2.34"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.table)
def test_batches_have_the_columns_of_the_specification(kind: object) -> None:
    decoder = Decoder()
    table = decoder.tables.index(kind.table)  # type: ignore[attr-defined]
    batch = decoder.take(table)
    batch.validate(full=True)
    assert batch.num_rows == 0
    assert batch.schema.equals(batch_schema(decoder.tables[table]))
    assert batch.schema.names == arrow_schema(decoder.tables[table]).names
