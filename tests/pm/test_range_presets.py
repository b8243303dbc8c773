"""Presets of exact counters against what is noted of each chip."""

from __future__ import annotations

from cupti_etl.pm.catalogue import noted, noted_chips
from cupti_etl.pm.range_presets import RANGE_PRESETS, metrics_of

FMA = "smsp__inst_executed_pipe_fma.sum"
# A GPU without memory of its own.
DRAM = {
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
}


def test_chips_have_the_metrics_of_presets_under_some_name() -> None:
    lacking = {}
    for chip in noted_chips():
        catalogue = noted(chip)
        assert catalogue is not None
        lacking[chip] = {
            names[0]
            for names in (metric.rstrip("|").split("|") for metric in _all())
            if not any(catalogue.split(name) for name in names)
        }
    assert {chip: names for chip, names in lacking.items() if names} == {
        "GA100": {FMA},
        "GA10B": DRAM,
    }


def _all() -> tuple[str, ...]:
    return metrics_of(",".join(RANGE_PRESETS))


def test_a_metric_that_is_named_has_to_be_there() -> None:
    """Those of presets may be missing, which a bar behind them says."""
    assert metrics_of(f"{FMA},roofline,x__y.sum,{FMA}").count(FMA) == 1
    assert f"{FMA}|" in metrics_of("roofline")
    assert metrics_of(f"roofline,{FMA}")[: len(RANGE_PRESETS["roofline"])].count(FMA) == 1
    assert metrics_of("occupancy, occupancy ,") == tuple(
        f"{name}|" for name in RANGE_PRESETS["occupancy"]
    )
