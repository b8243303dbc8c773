"""Derived files are what the specification says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cupti_etl.errors import SchemaError
from cupti_etl.schema.fingerprint import fingerprint
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Column
from tools.codegen import __main__ as generate
from tools.codegen.cdecl import kinds_inc
from tools.codegen.compiled import compiled
from tools.codegen.headers import dump, load_facts


@pytest.mark.slow
def test_nothing_is_stale() -> None:
    assert generate.stale() == []


@pytest.mark.slow
def test_check_sees_an_edited_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in generate.outputs():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(generate.ROOT / name, tmp_path / name)
    edited = tmp_path / "native/generated/env.h"
    edited.write_text(edited.read_text() + "\n")
    assert generate.stale(tmp_path) == ["native/generated/env.h"]
    monkeypatch.setattr(generate, "stale", lambda: ["native/generated/env.h"])
    assert generate.main(["--check"]) == 1
    assert "make generate" in capsys.readouterr().err


def test_facts_are_kept_as_they_are_written() -> None:
    path = Path(generate.__file__).with_name("generated") / "records.json"
    assert path.read_text() == dump(load_facts())


def test_fingerprint_follows_the_layout_and_not_the_words() -> None:
    first = KINDS[0]
    ours = fingerprint(KINDS, "digest")

    def with_first(column: Column) -> int:
        other = replace(first, columns=(column, *first.columns[1:]))
        return fingerprint((other, *KINDS[1:]), "digest")

    assert with_first(replace(first.columns[0], doc="Other words.")) == ours
    assert with_first(replace(first.columns[0], was=(("other_name", 2),))) == ours
    assert with_first(replace(first.columns[0], name="other_name")) != ours
    assert fingerprint(KINDS, "other digest") != ours
    shorter = replace(first, columns=first.columns[1:])
    assert fingerprint((shorter, *KINDS[1:]), "digest") != ours
    swapped = replace(first, columns=(*first.columns[1::-1], *first.columns[2:]))
    assert fingerprint((swapped, *KINDS[1:]), "digest") != ours
    assert fingerprint((KINDS[1], first, *KINDS[2:]), "digest") != ours
    # What only Python goes by when it reads a batch.
    read_as = replace(first.columns[0].type, arrow="int32")
    assert with_first(replace(first.columns[0], type=read_as)) != ours


@pytest.mark.parametrize(
    ("header", "before", "after", "is_same"),
    [
        ("segment.h", "uint64_t magic;", "uint64_t magic; /* other words */", True),
        ("segment.h", "int32_t parent_pid;", "int64_t parent_pid;", False),
        ("abi.h", "ETL_BY_PROCESS,", "ETL_BY_NOBODY, ETL_BY_PROCESS,", False),
        ("abi.h", "int64_t slot;", "int32_t slot;", False),
        ("strings.h", "ETL_API_DROP = 2", "ETL_API_DROP = 4", False),
    ],
)
def test_fingerprint_follows_what_the_libraries_share(
    tmp_path: Path, header: str, before: str, after: str, is_same: bool
) -> None:
    shared = generate.ROOT / "native" / "include" / "etl"
    facts = load_facts()
    ours = compiled(shared, KINDS, facts)
    shutil.copytree(shared, tmp_path / "etl")
    path = tmp_path / "etl" / header
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    assert (compiled(tmp_path / "etl", KINDS, facts) == ours) is is_same


def test_two_tables_cannot_claim_the_same_records() -> None:
    twin = replace(KINDS[0], table="twin")
    with pytest.raises(SchemaError, match="both claim"):
        kinds_inc((*KINDS, twin), load_facts())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": "noSuchMember"}, "has no member 'noSuchMember'"),
        ({"width": 3}, "cannot be read from 3 bytes"),
        ({"at": 6}, "are more than"),
    ],
)
def test_a_wrong_column_is_named(change: dict[str, object], words: str) -> None:
    kind = next(kind for kind in KINDS if kind.table == "kernel")
    broken = replace(kind.columns[0], **change)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=words) as raised:
        kinds_inc((replace(kind, columns=(broken, *kind.columns[1:])),), load_facts())
    assert "kernel.start_ns" in str(raised.value)
