"""Floats that are multiplied without tensor cores, by what kernels say in their names."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace

from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import why_empty

# As an H100, an A100 and a V100 call them. Of products an H100 counted no instruction in the pipe
# of its tensor cores for those that say simt or ffma, and some for all that say tensor, nvjet or
# tf32; of convolutions it counts other instructions there, too.
PLAIN = (
    "cutlass_80_simt_sgemm_64x64_8x5_nn_align1",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nhwckrsc_nhwc_tilesize32x32x8_stage3_warpsize1x2x1_g1_ffma_execute_kernel__5x_cudnn",
    "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>(int)",
    "ampere_sgemm_128x64_tn",
    "volta_scudnn_128x64_relu_interior_nn_v1",
)
DOUBLE = (
    "cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1",
    "cutlass_80_simt_dgemm_128x64_8x3_nn_align1",
    "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas",
    "volta_dgemm_64x64_nn",
    "void implicit_convolve_dgemm<128, 6, 7, 3, 3, 5, 1, false, true, true>(int)",
)
OTHERS = (
    "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize32x32x64_stage3_warpsize2x2x1_tensor16x8x8_aligna4_alignc4_execute_kernel__5x_cublas",
    "nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT",
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80",
    "volta_s884gemm_fp16_128x64_ldg8_nn",
    "void groupedgemm_kernel<__half>(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
)


def test_names_that_say_so(trace: MakeTrace) -> None:
    names = PLAIN + DOUBLE + OTHERS
    rows = "".join(f"1 0 {i * 10} {i * 10 + 5} '{name}'\n" for i, name in enumerate(names))
    opened = trace(kernel=f"process_id device_id start_ns end_ns name\n{rows}")
    for column, expected in ("is_plain_float", PLAIN), ("is_double", DOUBLE):
        found = opened.sql(f"SELECT mangled FROM kernel_rule WHERE {column}").arrow()
        assert sorted(found["mangled"].to_pylist()) == sorted(expected)


# TF32, and where the chip has none, or none that is faster, halves.
@pytest.mark.parametrize(
    ("device", "by", "saved"),
    [
        ("'NVIDIA H100 80GB HBM3'", "tensor", round(3000 * (1 - 67.0 / 494.7))),
        ("'Tesla T4'", "half", round(3000 * (1 - 8.1 / 65.0))),
        ("'NVIDIA GeForce RTX 4090'", "half", round(3000 * (1 - 82.6 / 165.2))),
        ("'NVIDIA GeForce RTX 3070 Ti'", "half", round(3000 * (1 - 21.7 / 43.5))),
        ("'NVIDIA GeForce RTX 2070 SUPER'", "half", round(3000 * (1 - 9.1 / 36.2))),
        ("'NVIDIA H800'", "tensor", round(3000 * (1 - 67.0 / 494.7))),
    ],
)
def test_what_tensor_cores_would_save(trace: MakeTrace, device: str, by: str, saved: int) -> None:
    # Two kernels beside each other are counted once: the GPU computes for 3000 but for 500 without.
    opened = trace(
        kernel="""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        2000   ampere_sgemm_128x64_tn
            1          0         8         1000     3000   ampere_sgemm_128x64_nn
            1          0         7         4000     4500   elementwise
        """,
        device=f"""
            process_id device_id name
            1          0         {device}
        """,
    )
    limit = 3500 * saved // 3000
    both = {kind: opened.query(f"finding_{kind}_cores").arrow() for kind in ("tensor", "half")}
    (row,) = both.pop(by).to_pylist()
    assert [table.num_rows for table in both.values()] == [0]
    assert (row["gpu"], row["culprit"]) == (0, "2 kernels, above all in")
    assert saved <= row["saved_ns"] <= limit + 1
    assert row["kernel"] == "ampere_sgemm_128x64_tn"


@pytest.mark.parametrize(
    ("device", "saved"),
    [
        ("'NVIDIA H100 80GB HBM3'", round(2000 * (1 - 67.0 / 494.7))),
        # It has no TF32, and its halves are no floats.
        ("'Tesla V100-SXM2-16GB'", round(2000 * (1 - 7.8 / 15.7))),
        # What it can do with doubles is a 64th of what it can with floats, and not listed.
        ("'NVIDIA GeForce RTX 4090'", 2000),
    ],
)
def test_what_floats_would_save(trace: MakeTrace, device: str, saved: int) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         0        2000   volta_dgemm_64x64_nn
            1          0         2000     3000   volta_sgemm_64x64_nn
        """,
        device=f"""
            process_id device_id name
            1          0         {device}
        """,
    )
    (row,) = opened.query("finding_doubles").arrow().to_pylist()
    assert row == {
        "gpu": 0, "saved_ns": saved, "culprit": "all of it in", "kernel": "volta_dgemm_64x64_nn",
    }  # fmt: skip
    floats = [opened.query(f"finding_{kind}_cores").arrow() for kind in ("tensor", "half")]
    (row,) = [row for table in floats for row in table.to_pylist()]
    assert row["kernel"] == "volta_sgemm_64x64_nn"


def test_what_passes_over_doubles(trace: MakeTrace) -> None:
    names = (
        "void at::native::vectorized<4, at::native::CUDAFunctor_add<double>>(int)",
        "void at::native::unrolled<sin(at::I&)::{lambda()#1}::{lambda(double)#1}>(int)",
        "void kernel<getrf_wo_pivot_params_<double, 0, 256> >(int, int, void*)",
        "cupy_multiply__float64_float_float64",
    )
    others = (
        "void at::native::multi_tensor_apply<M<4>, FusedAdamMathFunctor<float, 4>, double>(double)",
        "void at::native::f<4, nan_to_num(c10::optional<double>)::{lambda(float)#1}>(int)",
        "at::native::amp_update_scale_cuda_kernel(float*, int*, float const*, double, double)",
    )
    rows = "".join(f"1 0 {i * 10} {i * 10 + 8} '{name}'\n" for i, name in enumerate(names + others))
    opened = trace(kernel=f"process_id device_id start_ns end_ns name\n{rows}")
    # The chip is not known, nor has it to be.
    (row,) = opened.query("finding_doubles")
    assert (row["saved_ns"], row["culprit"]) == (16, "4 kernels, above all in")


@pytest.mark.parametrize("device", ["'NVIDIA GeForce RTX 4090 Laptop GPU'", "'Tesla P100'"])
def test_a_chip_that_is_not_listed(trace: MakeTrace, device: str) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         0        2000   ampere_sgemm_128x64_tn
        """,
        device=f"""
            process_id device_id name
            1          0         {device}
        """,
    )
    for name in ("finding_tensor_cores", "finding_half_cores"):
        assert opened.query(name).count() == 0
        assert why_empty(opened, library()[name]) == (
            "it is not known what the chip of the GPU can do."
        )


# Of a matrix with 4095 columns, tensor cores cannot load 16 bytes at once.
ONE_HALF = "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1"
TWO_HALVES = "cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_tn_align2"
ONE_FLOAT = "cutlass_80_tensorop_s1688gemm_128x256_32x3_nt_align1"
ALIGNED = "cutlass_80_tensorop_s16816gemm_f16_64x64_64x6_nn_align8"
LOADING = {
    ONE_HALF: 1,
    TWO_HALVES: 2,
    ONE_FLOAT: 1,
    ALIGNED: 8,
    "cutlass_tensorop_s1688dgrad_optimized_tf32_64x64_32x3_nhwc_unity_stride_align4": 4,
    "cutlass_80_simt_sgemm_64x64_8x5_nn_align1": None,
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80": None,
    "nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT": None,
}


def test_how_many_values_are_loaded_at_once(trace: MakeTrace) -> None:
    rows = "".join(f"1 0 {i * 10} {i * 10 + 5} '{name}'\n" for i, name in enumerate(LOADING))
    opened = trace(kernel=f"process_id device_id start_ns end_ns name\n{rows}")
    found = opened.sql("SELECT mangled, aligned_values FROM kernel_rule").arrow().to_pylist()
    assert {row["mangled"]: row["aligned_values"] for row in found} == LOADING


@pytest.mark.parametrize(("major", "of_it"), [(9, 1.0), (8, 0.5), ("-", 1.0)])
def test_what_aligned_sizes_would_save(trace: MakeTrace, major: object, of_it: float) -> None:
    # Products of doubles and those that load 16 bytes at once are as fast as they can be.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        4000   {ONE_HALF}
            1          0         7         4000     7000   {TWO_HALVES}
            1          0         7         7000     9000   {ONE_FLOAT}
            1          0         7         9000     10000  nhwcAddPaddingKernel
            1          0         7         20000    29000  {DOUBLE[0]}
            1          0         7         30000    39000  {ALIGNED}
        """,
        device=f"""
            process_id device_id compute_capability_major
            1          0         {major}
        """,
    )
    (row,) = opened.query("finding_alignment").arrow().to_pylist()
    assert row == {
        "gpu": 0,
        "saved_ns": round((4000 * 5 / 6 + 3000 * 2 / 3 + 2000 * 3 / 5) * of_it + 1000),
        "culprit": "4 kernels, above all in",
        "kernel": ONE_HALF,
    }


def test_sizes_that_are_not_aligned_save_no_more_than_the_gpu_computed(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        3000   {ONE_HALF}
            1          0         8         0        3000   {ONE_HALF}
        """
    )
    (row,) = opened.query("finding_alignment").arrow().to_pylist()
    assert (row["saved_ns"], row["culprit"]) == (2500, "all of it in")
