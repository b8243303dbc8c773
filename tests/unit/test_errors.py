"""What an error says where ``cupti_etl.cli`` is not there to say it."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.errors import CuptiPermissionError, CuptiValueError, EtlError


def test_a_traceback_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(cupti_etl.TraceError) as caught:
        cupti_etl.open(tmp_path / "gone")
    shown = traceback.format_exception(caught.value)
    assert caught.value.hint
    assert shown[-1].strip() == caught.value.hint
    assert caught.value.message in shown[-2]


@pytest.mark.parametrize(
    "error",
    [
        cupti_etl.UsageError("there is no kind 'x'", "kinds are kernel, memcpy"),
        cupti_etl.TraceError("damaged"),
        CuptiValueError(17, "no such metric", "cupti-etl metrics list", "invalid metric"),
        CuptiPermissionError(35, "not allowed"),
    ],
)
def test_an_error_comes_whole_out_of_another_process(error: EtlError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert vars(again) == vars(error)
    assert str(again) == str(error)
