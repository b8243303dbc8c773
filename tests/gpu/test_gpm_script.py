"""The comparison of NVML's samples with CUPTI's can fail."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

CUPTI = {
    "sm_active_pct": 95.0,
    "tensor_active_pct": 92.0,
    "warps_active_pct": 14.0,
    "dram_pct": 16.0,
}


@pytest.mark.parametrize(
    ("gpm", "ok"),
    [
        ({}, True),
        ({"sm_active_pct": 99.9}, True),
        ({"sm_active_pct": 89.0}, False),
        ({"dram_pct": None}, False),
    ],
)
def test_means_have_to_agree(gpm: dict[str, Any], ok: bool) -> None:
    from gpm import judge

    done = judge({**CUPTI, **gpm}, CUPTI)
    assert done["ok"] is ok
    assert set(done["apart"]) == ({*gpm} if not ok else set())
