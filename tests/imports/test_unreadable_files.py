"""Files that cannot be read: it is said what is wrong with them, and nothing is left of it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from imports.conftest import Import

from cupti_etl.errors import ForeignError

GOOD = '{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{}}]}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"  \n", "has an unknown format"),
        (GOOD[:-1].encode(), "is truncated"),
        (GOOD[:60].encode(), "is truncated"),
        (gzip.compress(GOOD.encode(), mtime=0)[:-20], "gzip stream does not end"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"something else", mtime=0), "is compressed and holds no JSON"),
        (gzip.compress(b"SQLite format 3\0...", mtime=0), "is compressed and holds no JSON"),
        (b"\x1f\x8b but no gzip at all", "cannot be read"),
        (GOOD.replace(':"kernel"', "").encode(), "not well-formed JSON at byte 32"),
        ((GOOD + "}").encode(), "something follows at byte 80"),
        ((GOOD + "\n" + GOOD).encode(), "holds several traces: the second begins at byte 80"),
        (gzip.compress(GOOD.encode(), mtime=0) * 2, "holds several traces"),
        (gzip.compress(GOOD.encode(), mtime=0) + b"odd", "cannot be read"),
        (b'{"baseTimeNanoseconds": "5", ' + GOOD[1:].encode(), "baseTimeNanoseconds is '5'"),
        (b'{"baseTimeNanoseconds": 1e30, ' + GOOD[1:].encode(), "which is no time"),
        (b'{"traceEvents": []}', "holds no event of torch.profiler"),
        (b'{"traceEvents": [{"ph":"X","cat":"v8","name":"f","ts":1}]}', "holds no event"),
        (b'{"a": 1}', "holds no event"),
        (b'{"traceEvents":[{"ph":"M","args":{"name":"/device:GPU:0"}}]}', "is a profile of JAX"),
        (b"\n\xbc\xb8\x08\x12\x0e/host:metadata", "is a profile of JAX"),
        (b'{"nodes":[{"name":"[pytorch|profiler|execution_trace|thread]"}]}', "execution trace"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "of Git LFS"),
        (b"PK\x03\x04 a zip", "is an archive"),
        (gzip.compress(b"t.json".ljust(257, b"\0") + b"ustar", mtime=0), "is an archive"),
    ],
)
def test_what_cannot_be_read_leaves_nothing(
    tmp_path: Path, imported: Import, content: bytes, said: str
) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_bytes(content)
    good.write_text(GOOD)
    with pytest.raises(ForeignError, match=said) as raised:
        imported(good, bad)
    assert raised.value.hint or "cannot be read" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.json", "good.json"]
