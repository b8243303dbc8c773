"""Which device work was on."""

from __future__ import annotations

from pathlib import Path

import pytest
from imports.conftest import Import, event, kineto
from support.trace import assert_rows

MI300 = {"id": 0, "name": "AMD Instinct MI300X"}
H100 = {"id": 0, "name": "NVIDIA H100"}


@pytest.mark.parametrize(
    ("members", "devices"),
    [
        # ROCm counts two processors of the host before it.
        ({"deviceProperties": [MI300], "hip_driver_version": 7}, "0 AMD_Instinct_MI300X 1"),
        ({"hip_driver_version": 7, "deviceProperties": [MI300]}, "0 AMD_Instinct_MI300X 1"),
        # Which of several it is, is not known.
        (
            {"deviceProperties": [MI300, {**MI300, "id": 1}], "roctracer_version": 4.1},
            "0 AMD_Instinct_MI300X 0\n 1 AMD_Instinct_MI300X 0\n 2 - 1",
        ),
        ({"deviceProperties": [{"id": "x"}], "hip_driver_version": 7}, "2 - 1"),
        ({"hip_driver_version": 7}, "2 - 1"),
        ({"deviceProperties": [H100]}, "0 NVIDIA_H100 0\n 2 - 1"),
    ],
)
def test_the_only_device_of_rocm(
    tmp_path: Path, imported: Import, members: dict[str, object], devices: str
) -> None:
    kernel = event("kernel", "k", 1e15, 10, 2, device=2, stream=0, correlation=1)
    trace = imported(kineto(tmp_path / "a.json", kernel, **members))
    assert_rows(
        trace.sql(
            "SELECT device_id, replace(name, ' ', '_') AS name,"
            " (SELECT count(*) FROM kernel WHERE kernel.device_id = device.device_id) AS kernels"
            " FROM device ORDER BY device_id"
        ),
        f"device_id name kernels\n {devices}",
    )
