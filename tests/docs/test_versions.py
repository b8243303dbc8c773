"""docs/design/versions.md says which numbers there are now."""

from __future__ import annotations

import re
from pathlib import Path

from cupti_etl.capture.recording import MAGIC
from cupti_etl.native.headers import constant
from cupti_etl.schema.arrow import SCHEMA_VERSION, TABLES
from cupti_etl.schema.revisions import STORAGE_VERSION, newest, schema_version
from cupti_etl.storage import migrations

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/design/versions.md"
_ROW = re.compile(r"^\| ([A-Za-z ]+) \| (v?[\d.]+) \|", re.MULTILINE)


def segment_version() -> str:
    header = (ROOT / "native/include/etl/segment.h").read_text()
    (found,) = re.findall(r"^#define ETL_SEGMENT_VERSION (\d+)$", header, re.MULTILINE)
    return str(found)


def test_the_numbers_are_those_of_the_code() -> None:
    assert dict(_ROW.findall(PAGE.read_text())) == {
        "schema": str(SCHEMA_VERSION),
        "migration": newest(),
        "segment": segment_version(),
        "hello": str(constant("ETL_HELLO_VERSION")),
        "recording": MAGIC.decode().split()[-1],
        "DuckDB storage": STORAGE_VERSION,
    }
    assert newest() == migrations.head()


def test_each_number_has_its_section() -> None:
    text = PAGE.read_text()
    for name, _ in _ROW.findall(text):
        section = text.split(f"\n## {name[0].upper()}{name[1:]}\n")[1].split("\n## ")[0]
        assert "**Raised**" in section
        assert "**Checked**" in section


def test_no_column_had_a_name_in_a_version_to_come() -> None:
    versions = [until for t in TABLES.values() for c in t.columns for _, until in c.was]
    assert max(versions, default=1) <= SCHEMA_VERSION
    assert max(versions, default=1) <= schema_version(newest()) <= SCHEMA_VERSION
