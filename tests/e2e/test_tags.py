"""What tells a run from others is in its row of ``capture``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.captures import Capturer

from cupti_etl.capture.origin import user_name
from cupti_etl.cli import cli


def test_tags_and_who_ran_it(capturer: Capturer) -> None:
    capture = capturer.run(options=["--tag", "model=llama", "--tag", "note=a=b"], launches=2)
    assert capture.status == 0, capture.stderr
    (row,) = capture.rows("capture")
    assert json.loads(row["tags"]) == {"model": "llama", "note": "a=b"}
    assert row["user_name"] == user_name()


@pytest.mark.parametrize("words", [["model"], ["=x"], ["a=1", "a=2"]])
def test_tags_that_are_none(words: list[str]) -> None:
    given = [part for word in words for part in ("--tag", word)]
    done = CliRunner().invoke(cli, ["capture", *given, "--", "true"])
    assert done.exit_code != 0
    assert "--tag" in str(done.exception)
