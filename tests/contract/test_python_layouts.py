"""Where CPython keeps its frames and code, against the headers of interpreters that are here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.pythons import VERSIONS, interpreters

from cupti_etl.errors import SchemaError
from tools.codegen.python_layouts import extract, load_layouts, pythons_inc

_INCLUDE = "import sysconfig; print(sysconfig.get_path('include'))"


@pytest.mark.parametrize("version", VERSIONS)
def test_layouts_are_those_of_the_headers(version: str) -> None:
    if version not in interpreters():
        pytest.skip(f"no Python {version} here")
    done = subprocess.run(
        [interpreters()[version], "-c", _INCLUDE], capture_output=True, text=True, check=True
    )
    include = Path(done.stdout.strip())
    if not (include / "internal" / "pycore_frame.h").exists():
        pytest.skip(f"no headers of Python {version} here")
    found, row = extract(include)
    assert found == version.rstrip("t")
    # A build without the GIL says where its own members lie; what it does not say is the same.
    assert load_layouts()[found] == row
    assert load_layouts()[found] != {**row, "frame_code": row["frame_code"] + 8}


def test_what_has_no_headers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "patchlevel.h").write_text("#define PY_MINOR_VERSION 12\n")
    with pytest.raises(SchemaError, match="headers cannot be read"):
        extract(tmp_path)


def test_every_version_is_named_to_the_user() -> None:
    assert '#define ETL_PYTHONS "3.11, 3.12, 3.13, 3.14 and 3.15"' in pythons_inc()
