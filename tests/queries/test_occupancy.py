"""How kernels fill a device: occupancy, waves, and what is left empty."""

from __future__ import annotations

import pytest
from support.trace import H100, MakeTrace, assert_rows, kernels


@pytest.mark.parametrize(
    ("block", "registers", "shared", "blocks", "occupancy", "limiter"),
    [
        # NVIDIA's occupancy calculator gives these for compute capability 9.0.
        (256, 32, 0, 8, "100", "warps"),
        (256, 64, 0, 4, "50", "registers"),
        (1024, 54, 0, 1, "50", "registers"),
        (128, 32, 100000, 2, "12.5", '"shared memory"'),
        (32, 16, 0, 32, "50", "blocks"),
    ],
)
def test_occupancy(
    trace: MakeTrace,
    block: int,
    registers: int,
    shared: int,
    blocks: int,
    occupancy: str,
    limiter: str,
) -> None:
    row = f"1 0 1 7 0 100 a 66 1 1 {block} 1 1 0 0 0 {registers} 0 {shared} 1"
    opened = trace(kernel=kernels(row), device=H100)
    assert_rows(
        opened.query("kernel_occupancy"),
        f"blocks_per_multiprocessor occupancy_pct limiter\n {blocks} {occupancy} {limiter}",
    )


def test_waves(trace: MakeTrace) -> None:
    # 8 blocks of 256 threads fit on each of 132 multiprocessors: 1056 at once.
    shapes = {"half": 528, "tail": 1100, "full": 2112}
    rows = [
        f"1 0 1 7 {at} {at + 100} {name} {grid} 1 1 256 1 1 0 0 0 32 0 0 1"
        for at, (name, grid) in enumerate(shapes.items())
    ]
    assert_rows(
        trace(kernel=kernels(*rows), device=H100).query("kernel_waves"),
        """
        name waves   efficiency_pct verdict              wasted_ns blocks_at_once
        half 0.5     50             "less than one wave" 50        1056
        tail 1.04167 52.0833        "last wave not full" 48        1056
        full 2       100            full                 0         1056
        """,
    )


@pytest.mark.parametrize(
    ("begins", "saved"),
    # Each half fills the device: one after the other, half beside each other, at the same time.
    [((0, 100), 100), ((0, 50), 50), ((0, 0), 0)],
)
def test_kernels_beside_each_other_fill_the_device(
    trace: MakeTrace, begins: tuple[int, int], saved: int
) -> None:
    rows = [
        f"1 0 1 {7 + n} {at} {at + 100} half 528 1 1 256 1 1 0 0 0 32 0 0 {n}"
        for n, at in enumerate(begins)
    ]
    opened = trace(kernel=kernels(*rows), device=H100)
    culprit = '"with grid 528x1x1 and block 256x1x1 in"'
    assert_rows(opened.query("finding_small_grids"), f"gpu saved_ns culprit\n0 {saved} {culprit}")


@pytest.mark.parametrize(("registers", "saved"), [(255, 17), (128, None)])
def test_a_last_wave_of_blocks_that_have_a_multiprocessor_each(
    trace: MakeTrace, registers: int, saved: int | None
) -> None:
    # 330 blocks on 132 multiprocessors, of which each has room for one, or for two.
    row = f"1 0 1 7 0 100 a 330 1 1 256 1 1 0 0 0 {registers} 0 0 1"
    found = trace(kernel=kernels(row), device=H100).query("finding_small_grids")
    assert [row["saved_ns"] for row in found] == ([] if saved is None else [saved])


@pytest.mark.parametrize(
    ("at", "saved"),
    # Communication that fills a quarter of the device: beside it, half of that, and after it.
    [(0, 25), (50, 38), (100, 50)],
)
def test_communication_beside_a_kernel_fills_a_part_of_the_device(
    trace: MakeTrace, at: int, saved: int
) -> None:
    opened = trace(
        kernel=kernels(
            "1 0 1 7 0 100 half 528 1 1 256 1 1 0 0 0 32 0 0 1",
            f"1 0 1 8 {at} {at + 100} ncclDevKernel_AllReduce 264 1 1 256 1 1 0 0 0 32 0 0 2",
        ),
        device=H100,
    )
    assert [row["saved_ns"] for row in opened.query("finding_small_grids")] == [saved]


@pytest.mark.parametrize(
    ("name", "block", "blocks", "us", "saved_us"),
    [
        # As an H100 took: 16.8 million threads, which take 75.5 us in blocks of 256.
        ("saxpy", 32, 524288, 317.6, 256),
        ("saxpy", 64, 262144, 160.2, 98),
        # Half of each warp has nothing to do, and no bytes.
        ("saxpy", 16, 524288, 317.6, 286),
        ("saxpy", 128, 131072, 82.1, None),
        # Its threads do so much that fewer blocks begin in a clock.
        ("saxpy", 64, 262144, 324.7, None),
        # A few blocks, as fast.
        ("saxpy", 32, 2048, 2.5, 0),
        ("'at::native::vectorized_gather_kernel<16>(int)'", 32, 524288, 317.6, None),
    ],
)
def test_blocks_of_few_threads(
    trace: MakeTrace, name: str, block: int, blocks: int, us: float, saved_us: int | None
) -> None:
    row = f"1 0 1 7 0 {1000 * us:.0f} {name} {blocks} 1 1 {block} 1 1 0 0 0 16 0 0 1"
    found = trace(kernel=kernels(row), device=H100).query("finding_small_blocks")
    assert [round(row["saved_ns"] / 1000) for row in found] == (
        [] if saved_us is None else [saved_us]
    )


def test_blocks_of_few_threads_where_the_clock_is_not_known(trace: MakeTrace) -> None:
    row = "1 0 1 7 0 317600 saxpy 524288 1 1 32 1 1 0 0 0 16 0 0 1"
    opened = trace(kernel=kernels(row), device=H100.replace("1980000", "-"))
    assert opened.query("finding_small_blocks").count() == 0


def test_a_grid_that_no_gpu_has(trace: MakeTrace) -> None:
    grid = "2147483647 2147483647 2147483647"
    opened = trace(kernel=kernels(f"1 0 1 7 0 100 a {grid} 256 1 1 0 0 0 32 0 0 1"), device=H100)
    assert_rows(opened.query("kernel_waves"), "name waves verdict wasted_ns blocks\n a - - - -")
    assert opened.query("finding_small_blocks").count() == 0


def test_communication_takes_few_multiprocessors_on_purpose(trace: MakeTrace) -> None:
    rows = [
        f"1 0 1 7 {at} {at + 100} {name} 4 1 1 256 1 1 0 0 0 32 0 0 1"
        for at, name in enumerate(["ncclDevKernel_AllReduce", "gemm"])
    ]
    found = trace(kernel=kernels(*rows), device=H100).query("kernel_waves")
    assert [row["name"] for row in found] == ["gemm"]


@pytest.mark.parametrize("limit", ["max_warps", "max_blocks", "max_registers", "max_shared"])
def test_no_occupancy_where_a_limit_is_not_known(trace: MakeTrace, limit: str) -> None:
    row = "1 0 1 7 0 100 a 66 1 1 256 1 1 0 0 0 32 0 0 1"
    columns = H100.split()[: H100.split().index("1")]
    values = H100.split()[len(columns) :]
    at = next(i for i, name in enumerate(columns) if name.startswith(limit))
    values[at] = "-"
    opened = trace(kernel=kernels(row), device=f"{' '.join(columns)}\n{' '.join(values)}")
    assert opened.query("kernel_occupancy").count() == 0
