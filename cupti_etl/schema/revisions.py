"""Numbers of the migrations, without alembic: reading a file must not wait for its import."""

from __future__ import annotations

import re
from pathlib import Path

import cupti_etl
from cupti_etl.errors import SchemaError

# The table in which alembic keeps the revision of a file.
TABLE = "alembic_version"
# Of DuckDB's files: the oldest DuckDB that is supported must be able to open them.
STORAGE_VERSION = "v1.5.0"
_NUMBER = re.compile(r"(\d{4})_\w+\.py\Z")
_SCHEMA_VERSION = re.compile(r"^schema_version: int = (\d+)$", re.MULTILINE)


def migrations_path() -> Path:
    """The folder with ``env.py``: inside the installed package, or of the checkout.

    Raises:
        SchemaError: there is neither.
    """
    package = Path(cupti_etl.__file__).parent
    for path in (package / "_migrations", package.parent / "migrations"):
        if (path / "env.py").is_file():
            return path
    raise SchemaError("the migrations are not installed", "install cupti-etl again")


def _migrations() -> dict[str, Path]:
    """The migrations by their numbers."""
    paths = (migrations_path() / "versions").glob("*.py")
    return {match[1]: path for path in paths if (match := _NUMBER.match(path.name))}


def newest() -> str:
    """The revision of a file that this version of cupti-etl writes."""
    return max(_migrations())


def schema_version(revision: str) -> int:
    """The version of the schema by which the columns of a file are called."""
    texts = (path.read_text() for number, path in _migrations().items() if number <= revision)
    return max((int(found) for text in texts for found in _SCHEMA_VERSION.findall(text)), default=1)
