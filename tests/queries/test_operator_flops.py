"""Operations of PyTorch's operators, counted by hand from the sizes of their inputs."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.notes import notes
from cupti_etl.queries.catalog import library

FLOPS = {
    "marker": """
        process_id thread_id marker_id event timestamp_ns domain          name
        1          5         9         start 0            user_annotation ProfilerStep#1
        1          5         9         end   100          user_annotation -
        1          5         1         start 1            cpu_op          aten::linear
        1          5         1         end   20           cpu_op          -
        1          5         2         start 2            cpu_op          aten::addmm
        1          5         2         end   10           cpu_op          -
        1          5         3         start 30           cpu_op          aten::cudnn_convolution
        1          5         3         end   39           cpu_op          -
        1          5         4         start 40           cpu_op          aten::_flash_attention_forward
        1          5         4         end   49           cpu_op          -
    """,  # noqa: E501
    "argument": """
        process_id marker_id arguments
        1          1         '{"Input Dims": [[64,32],[16,32],[16]], "Input type": ["c10::Half","c10::Half","c10::Half"]}'
        1          2         '{"Input Dims": [[16],[64,32],[32,16]], "Input type": ["c10::Half","c10::Half","c10::Half"]}'
        1          3         '{"Input Dims": [[2,3,9,9],[4,3,3,3]], "Input type": ["float","float"], "Concrete Inputs": ["","","[1, 1]","[2, 2]","[1, 1]","1"]}'
        1          4         '{"Input Dims": [[2,8,4,16],[2,8,4,16],[2,8,4,16]], "Input type": ["c10::Half","c10::Half","c10::Half"]}'
    """,  # noqa: E501
    "api_call": """
        process_id thread_id correlation_id domain  name             start_ns end_ns
        1          5         2              runtime cudaLaunchKernel 3        4
        1          5         3              runtime cudaLaunchKernel 33       34
        1          5         4              runtime cudaLaunchKernel 43       44
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         2              100      110    gemm
        1          0         3              110      120    conv
        1          0         4              120      140    flash
    """,
    "device": 'process_id device_id name\n1 0 "NVIDIA H200"',
}


def test_operations_follow_from_the_sizes(trace: MakeTrace) -> None:
    opened = trace(**FLOPS)
    # 2*64*32*16; 2 * (2*4*5*5 of the result) * 3*3*3; 2 * 2*4 heads * 8*8 * (16+16).
    assert_rows(
        opened.query("operator_flops"),
        """
        name                          gpu_ns flops bytes tflops_per_s bound
        aten::_flash_attention_forward 20    32768 8192  1.6384       memory
        aten::addmm                   10     65536 7168  6.5536       memory
        aten::cudnn_convolution       10     10800 3176  1.08         memory
        """,
    )
    (addmm,) = (row for row in opened.query("operator_flops") if row["name"] == "aten::addmm")
    assert addmm["peak_pct"] == pytest.approx(100 * 6.5536 / 989.4)
    assert addmm["memory_pct"] == pytest.approx(100 * 716.8 / 4800)


@pytest.mark.parametrize(
    ("operator", "sizes", "flops"),
    [
        # 2 * (8 queries * 8 keys) * (16 + 16), for 2*4 heads; backwards 2.5 times that.
        ("_flash_attention_forward", "[2,8,4,16],[2,8,4,16],[2,8,4,16]", 32768),
        ("_cudnn_attention_forward", "[2,4,8,16],[2,4,8,16],[2,4,8,16]", 32768),
        ("_flash_attention_backward", "[2,8,4,16],[2,8,4,16],[2,8,4,16],[2,8,4,16]", 81920),
        ("_cudnn_attention_backward", "[2,4,8,16],[2,4,8,16],[2,4,8,16],[2,4,8,16]", 81920),
        # Sequences of several lengths, packed into one.
        ("_flash_attention_forward", "[16,4,16],[16,4,16],[16,4,16]", None),
        ("_cudnn_attention_forward", "[16,4,16],[16,4,16],[16,4,16]", None),
    ],
)
def test_what_computes_attention_is_counted(
    trace: MakeTrace, operator: str, sizes: str, flops: float | None
) -> None:
    name, dims = "_flash_attention_forward", "[2,8,4,16],[2,8,4,16],[2,8,4,16]"
    opened = trace(
        **{
            **FLOPS,
            "marker": FLOPS["marker"].replace(name, operator),
            "argument": FLOPS["argument"].replace(dims, sizes),
        }
    )
    rows = {row["name"]: row["flops"] for row in opened.query("operator_flops")}
    assert rows["aten::" + operator] == flops


@pytest.mark.slow
def test_a_recurrent_network_multiplies_by_each_of_its_matrices(trace: MakeTrace) -> None:
    # 5 sequences of 7; 2 * 35 * (8*3 + 8*2), and backwards twice that.
    sizes = "[5,7,3],[[8,3],[8,2],[8],[8]],[],[64]"
    name, dims = "_flash_attention_forward", "[2,8,4,16],[2,8,4,16],[2,8,4,16]"
    for operator, flops in (("_cudnn_rnn", 2800), ("_cudnn_rnn_backward", 5600)):
        opened = trace(
            **{
                **FLOPS,
                "marker": FLOPS["marker"].replace(name, operator),
                "argument": FLOPS["argument"].replace(dims, sizes),
            }
        )
        assert_rows(
            opened.sql("FROM operator_flops WHERE kind = 'recurrent'"),
            f"name flops bytes bound\naten::{operator} {flops} - -",
        )


def test_a_step_has_the_operations_that_began_in_it(trace: MakeTrace) -> None:
    (step,) = trace(**FLOPS).query("step_mfu")
    assert (step["name"], step["duration_ns"]) == ("ProfilerStep#1", 40)
    assert step["tflop"] == pytest.approx((32768 + 65536 + 10800) / 1e12)
    least_ns = (32768 + 65536) / 989.4e3 + 10800 / 494.7e3
    assert step["mfu_pct"] == pytest.approx(100 * least_ns / 40)
    assert (step["known_pct"], step["reason"]) == (100, None)


@pytest.mark.parametrize(
    ("name", "end_ns", "known_pct", "tflop"),
    [
        # What a graph, compiled code or an operator of a library multiplies has no sizes.
        ("nvjet_tst_64x8", 1600, 75, None),
        ("flash_fwd_kernel", 1600, 75, None),
        ("dot_kernel", 1208, 99.338, 109104e-12),
        ("vectorized_elementwise_kernel", 1500, 100, 109104e-12),
    ],
)
def test_the_operations_of_a_step_are_not_known_if_others_multiply(
    trace: MakeTrace, name: str, end_ns: int, known_pct: float, tflop: float | None
) -> None:
    opened = trace(
        **{
            **FLOPS,
            "api_call": FLOPS["api_call"] + "1 5 5 runtime cudaGraphLaunch 53 54",
            "kernel": f"""
                process_id device_id correlation_id start_ns end_ns name
                1          0         2              0        1000   gemm
                1          0         3              1000     1100   conv
                1          0         4              1100     1200   flash
                1          0         5              1200     {end_ns} {name}
            """,
        }
    )
    (step,) = opened.query("step_mfu")
    assert step["known_pct"] == pytest.approx(known_pct, abs=0.001)
    assert step["tflop"] == (tflop and pytest.approx(tflop))
    assert (step["mfu_pct"] is None) == (tflop is None)
    assert step["reason"] == (None if tflop else "operations of 25 % not known")


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["step_breakdown", "step_summary", "step_category", "step_mfu", "_step_kernel"]
)
def test_a_step_that_begins_in_a_part_is_in_it_as_a_whole(trace: MakeTrace, query: str) -> None:
    # The step is on the GPU from 100 to 140.
    opened = trace(**FLOPS)
    # Rows of a building block are in no order.
    whole = sorted(opened.query(query), key=repr)
    assert whole
    with opened.scope(to="115ns") as part:
        assert sorted(part.query(query), key=repr) == whole
    with opened.scope(from_="115ns") as part:
        assert list(part.query(query)) == []


@pytest.mark.parametrize(
    ("kernels", "matrices", "convolutions"),
    [
        (["volta_sgemm_64x64_nt"], 67, 494.7),
        (["cutlass_80_simt_sgemm_256x128_8x4_nn_align1", "reduce_kernel"], 67, 494.7),
        (["sgemm_largek_lds64", "sm80_xmma_wgrad_implicit_gemm_tf32f32_tf32f32"], 67, 494.7),
        (["sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", "cutlass_simt_sfprop_64x64"], 494.7, 67),
        (["cutlass_80_tensorop_s1688gemm_256x128_32x3_nt_align1"], 494.7, 494.7),
        (["cutlass_80_simt_sgemm_256x128", "sm80_xmma_gemm_f32f32_tf32f32_f32"], 494.7, 494.7),
        (["triton_tem_fused_mm"], 494.7, 494.7),
        (["cutlass_80_simt_sgemm_256x128", "nvjet_sss_64x8", "nvjet_tst_8x8"], 494.7, 494.7),
        (["cutlass_80_simt_sgemm_256x128", "nvjet_sm90_sss_64x8_64x16"], 494.7, 494.7),
        (["cutlass_80_simt_sgemm_256x128", "nvjet_sm90_tst_64x8_64x16"], 67, 494.7),
    ],
)
def test_floats_are_measured_by_what_multiplies_them(
    trace: MakeTrace, kernels: list[str], matrices: float, convolutions: float
) -> None:
    """PyTorch multiplies matrices without tensor cores, unless TF32 is allowed."""
    opened = trace(
        device='process_id device_id name\n1 0 "NVIDIA H100 80GB HBM3"\n2 0 "NVIDIA H100"',
        kernel="process_id name start_ns end_ns\n"
        + "\n".join(f"1 {name} 0 10" for name in kernels)
        + "\n2 tf32_gemm 0 10",
    )
    assert_rows(
        opened.sql(
            "SELECT process_id, is_convolution, peak_tflops FROM _device_peak"
            " WHERE element_type = 'float' ORDER BY ALL"
        ),
        f"""
        process_id is_convolution peak_tflops
        1          false          {matrices}
        1          true           {convolutions}
        2          false          494.7
        2          true           494.7
        """,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (', "Concrete Inputs": ["","","[1, 1]","[2, 2]","[1, 1]","1"]', ""),
        ('"Input Dims": [[2,3,9,9],[4,3,3,3]], ', ""),
        ("[[2,3,9,9],[4,3,3,3]]", "[[2,3,9,9]]"),
        ("[[2,3,9,9],[4,3,3,3]]", "[[[2,3],[9,9]],[4,3,3,3]]"),
    ],
)
def test_what_the_sizes_do_not_say_is_not_known(trace: MakeTrace, before: str, after: str) -> None:
    assert before in FLOPS["argument"]
    opened = trace(**{**FLOPS, "argument": FLOPS["argument"].replace(before, after)})
    rows = {row["name"]: row["flops"] for row in opened.query("operator_flops")}
    assert rows["aten::cudnn_convolution"] is None
    assert rows["aten::addmm"] == 65536
    (step,) = opened.query("step_mfu")
    assert (step["mfu_pct"], step["known_pct"]) == (None, 75)


def test_a_chip_that_is_not_listed_has_no_peak(trace: MakeTrace) -> None:
    opened = trace(**{**FLOPS, "device": 'process_id device_id name\n1 0 "NVIDIA X9000"'})
    assert_rows(
        opened.query("operator_flops"),
        "tflops_per_s peak_pct bound\n1.6384 - -\n6.5536 - -\n1.08 - -",
    )
    (step,) = opened.query("step_mfu")
    assert (step["mfu_pct"], step["reason"]) == (None, "peak of the chip not known")


def test_without_sizes_there_is_a_reason_and_no_row_without_a_rate(trace: MakeTrace) -> None:
    opened = trace(**{**FLOPS, "argument": ""})
    for asked in (opened, opened.scope(gpu=0)):
        assert not list(asked.query("operator_flops"))
        assert not list(asked.query("step_mfu"))
    (note,) = notes(opened, library()["operator_flops"], {}, is_empty=True)
    assert "record_shapes=True" in note


def test_emit_nvtx_says_sizes_too(trace: MakeTrace) -> None:
    opened = trace(
        **{
            **FLOPS,
            "argument": "",
            "marker": """
                process_id thread_id marker_id event timestamp_ns name
                1          5         2         start 2            "aten::addmm, seq = 3, op_id = 4, sizes = [[16], [64, 32], [32, 16]], input_op_ids = [(1,0)]"
                1          5         2         end   10           -
            """,  # noqa: E501
        }
    )
    assert_rows(
        opened.query("operator_flops"),
        'name input_dims flops bytes\naten::addmm "[[16], [64, 32], [32, 16]]" 65536 -',
    )
