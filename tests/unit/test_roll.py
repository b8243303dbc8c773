"""How long rows wait until they can be read."""

from __future__ import annotations

from pathlib import Path

from support.command import etl

from cupti_etl.commands._writing import convert
from cupti_etl.config import CaptureOptions
from cupti_etl.storage.destination import choose


def test_a_tenth_of_the_age_and_no_more_than_asked(tmp_path: Path) -> None:
    usual = choose(CaptureOptions(tmp_path / "run"), convert)
    assert [usual.interval_s(age) for age in (0, 300, 10**6)] == [1, 30, 60]
    often = choose(CaptureOptions(tmp_path / "run", roll_ns=5 * 10**9), convert)
    assert [often.interval_s(age) for age in (0, 20, 10**6)] == [1, 2, 5]


def test_too_often() -> None:
    refused = etl("capture", "--roll", "500ms", "--", "true")
    assert refused.returncode == 2
    assert "--roll 500ms would make very many small files" in refused.stderr
    assert "give 1s or more" in refused.stderr
