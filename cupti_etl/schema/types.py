"""Column types: what a value is in Arrow, in SQL and in the native decoder.

Only types that every analysis engine reads are used on disk: signed 16/32/64-bit
integers, double, boolean and string.  Unsigned 64-bit ids are stored bit-cast.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """One column type.

    ``arrow`` is the pyarrow factory, ``sql`` the DuckDB type, ``native`` the tag
    in ``etl/kinds.h`` that selects how the decoder reads the record's bytes, and
    ``widths`` the source widths in bytes that it accepts.
    """

    name: str
    arrow: str
    sql: str
    native: str
    widths: tuple[int, ...]


i16 = Type("i16", "int16", "SMALLINT", "ETL_INT16", (1, 2))
i32 = Type("i32", "int32", "INTEGER", "ETL_INT32", (1, 2, 4))
i64 = Type("i64", "int64", "BIGINT", "ETL_INT64", (4, 8))
f64 = Type("f64", "float64", "DOUBLE", "ETL_DOUBLE", (8,))
boolean = Type("boolean", "bool_", "BOOLEAN", "ETL_BOOL", (1, 2, 4))
# Nanoseconds of CLOCK_REALTIME since the epoch; DuckDB's TIMESTAMP_NS loses
# nanoseconds when subtracted, so time stays an integer.
timestamp = Type("timestamp", "int64", "BIGINT", "ETL_TIMESTAMP", (8,))
# The record holds a string id that the injector wrote over CUPTI's pointer.
string = Type("string", "string", "VARCHAR", "ETL_STRING", (8,))
# A number that CUPTI names in an enumeration; stored as a short string.
enum = Type("enum", "string", "VARCHAR", "ETL_ENUM", (1, 2, 4))
# Any bytes, as code has them; in the decoder a text.
binary = Type("binary", "binary", "BLOB", "ETL_BINARY", ())
# 16 bytes, printed the way nvidia-smi prints them.
uuid = Type("uuid", "string", "VARCHAR", "ETL_UUID", (16,))
# CUPTI's 32-bit correlation id, widened to 64 bits while decoding.
correlation = Type("correlation", "int64", "BIGINT", "ETL_CORRELATION", (4,))
# The function's name, looked up by callback id in the table the target publishes.
api_name = Type("api_name", "string", "VARCHAR", "ETL_API_NAME", (4,))
# Set by the decoder for every row: which traced process wrote it.
process = Type("process", "int64", "BIGINT", "ETL_PROCESS", ())

TYPES = (
    i16,
    i32,
    i64,
    f64,
    boolean,
    timestamp,
    string,
    enum,
    binary,
    uuid,
    correlation,
    api_name,
    process,
)
