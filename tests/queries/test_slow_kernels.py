"""Kernels for which there are faster ones: of attention, convolutions, graph networks, sorts."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

FORWARD = "'fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)'"
BACKWARD = "_Z40fmha_cutlassB_f32_aligned_64x64_k64_sm80N22PyTorchMemEffAttention"
CONV = "'void at::native::conv_depthwise2d_forward_kernel_generic<{}, int>(int)'"
GATHER = "'void at::native::vectorized_gather_kernel<16, long>(char*)'"
ADD = "'void at::native::indexFuncLargeIndex<float, long, at::native::ReduceAdd>(int)'"
SCATTER = (
    "'void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::ReduceAdd>(int)'"
)
MUL = "'void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)'"
FILL = "'void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)'"
SORT = "'void cub::DeviceSegmentedRadixSortKernel<cub::Policy1000, {}, float, long>(int)'"
GEMM = "nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT"


def test_attention_of_floats(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        100    {FORWARD}
            1          0         7         100      300    {BACKWARD}
            1          0         7         300      400    fmha_cutlassF_bf16_aligned_64x64_rf_sm80
            1          0         7         400      500    fmha_cutlassF_f16_aligned_64x64_rf_sm80
        """
    )
    assert_rows(
        opened.query("finding_float_attention"),
        f"""
        saved_ns culprit         kernel
        250      'above all in' {BACKWARD}
        """,
    )


def test_depthwise_convolutions_of_halves(trace: MakeTrace) -> None:
    # For floats cuDNN's can be slower; its own are as fast as they get.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        100    {CONV.format("c10::BFloat16")}
            1          0         7         100      150    {CONV.format("c10::Half")}
            1          0         7         150      300    {CONV.format("float")}
            1          0         7         300      400    conv2d_c1_k1_nhwc_specialized
        """
    )
    assert_rows(
        opened.query("finding_depthwise"),
        f"""
        saved_ns culprit         kernel
        100      'above all in' {CONV.format("c10::BFloat16")}
        """,
    )


def test_rows_that_are_gathered_and_added(trace: MakeTrace) -> None:
    # 200 at once, and 240 with a weight and an empty sum between. Not what a product comes between,
    # what is gathered alone, or added in another stream.
    opened = trace(
        kernel=f"""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        100    {GATHER}
            1          0         1          7         100      200    {ADD}
            1          0         1          7         200      300    {GATHER}
            1          0         1          7         300      320    {MUL}
            1          0         1          7         320      340    {FILL}
            1          0         1          7         340      440    {SCATTER}
            1          0         1          7         440      540    {GATHER}
            1          0         1          7         540      640    {GEMM}
            1          0         1          7         640      740    {ADD}
            1          0         1          7         740      840    {GATHER}
            1          0         1          8         840      940    {ADD}
        """
    )
    # Of the three executions of the kernel that adds, one pair is known: 7/8 of 200, and of 240.
    assert_rows(
        opened.query("finding_gather_add"),
        f"""
        saved_ns culprit         kernel
        385      'above all by' {SCATTER}
        """,
    )


def test_long_rows_that_are_sorted(trace: MakeTrace) -> None:
    # Indices are sorted otherwise, to add what belongs to each.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        100    {SORT.format("true")}
            1          0         7         100      400    {SORT.format("false")}
            1          0         7         400      500    DeviceRadixSortOnesweepKernel
        """
    )
    assert_rows(
        opened.query("finding_row_sort"),
        f"""
        saved_ns culprit         kernel
        300      'above all in' {SORT.format("false")}
        """,
    )
