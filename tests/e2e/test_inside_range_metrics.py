"""``cupti_etl.range_metrics()`` in a program, with a fake CUPTI."""

from __future__ import annotations

import pytest
from support.from_inside import Inside

_BEGIN = """
driver.cuInit(0)
options = json.loads(os.environ["OPTIONS"])
def counters(run):
    return run.trace.sql("SELECT metric, sum(launches)::INTEGER AS launches, sum(missing)::INTEGER"
        " AS missing FROM kernel_counter GROUP BY name, metric")
reads = ["dram__bytes_read.sum", "smsp__inst_executed.sum"]
"""


@pytest.mark.slow
def test_the_launches_of_a_block_are_measured_and_no_others(inside: Inside) -> None:
    text = f"""{_BEGIN}
launch(2)
with cupti_etl.range_metrics(reads, "first", limit=2, **options) as run:
    launch(3)
    launch(1, name=1)
launch(1)
with cupti_etl.range_metrics("occupancy", "second", cache_control="none", **options) as other:
    launch(1)
with capture("third"):
    launch(1)
tell(*[(row["metric"], row["launches"], row["missing"]) for row in counters(run)])
tell([row["is_whole"] for row in run.trace.query("counter_join")])
tell(*[row["cache_control"] for row in other.trace.sql("FROM launch_metric")])
"""
    counters, whole, controls = inside(text)
    assert sorted(map(tuple, counters)) == [
        ("dram__bytes_read.sum", 1, 0),
        ("dram__bytes_read.sum", 2, 0),
        ("smsp__inst_executed.sum", 1, 0),
        ("smsp__inst_executed.sum", 2, 0),
    ]
    assert whole == [[True]]
    assert set(controls) == {"none"}
    first, third = inside.trace("first"), inside.trace("third")
    assert first.count("kernel") == 4
    assert first.losses().keys() == {"replayed"}
    first.check_sums()
    assert third.count("launch_metric") == 0


def test_what_cannot_be_is_an_error_where_it_begins(inside: Inside) -> None:
    text = f"""{_BEGIN}
def said(*words, **more):
    try:
        with cupti_etl.range_metrics(*words, **options, **more):
            launch(1)
    except cupti_etl.UsageError as error:
        return f"{{error.message}}; {{error.hint}}"
tell(said("fast", "a"), said(reads, "b", filter="(("), said(reads, "c", pm="overview"))
with capture("d"):
    tell(said(reads, "e"))
"""
    (name, pattern, pm), (twice,) = inside(text)
    assert "'fast' is no metric" in name
    assert "regular expression" in pattern
    assert "two captures" in pm
    assert "is being captured already" in twice
