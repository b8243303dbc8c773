"""Kernels that only pass over data: could be one, are of attention, copy, or change a layout."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

MUL = "'void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>>(int)'"
ADD = "'void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)'"
SUM = "'void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)'"
GEMM = "nvjet_sm90_tst_64x48_64x15_2x4_h_bz_NNT"
NORM = "'void at::native::vectorized_layer_norm_kernel<float, float>(int)'"
LOSS = "'void at::native::cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>(int)'"
SOFTMAX = "'void (anonymous namespace)::softmax_warp_forward<float, float, float, 10>(int)'"
CAT = "'void at::native::CatArrayBatchedCopy<float, unsigned int, 4, 64, 64>(int)'"
COPY = "'void at::native::elementwise_kernel<128, 2, at::native::direct_copy_kernel_cuda()>(int)'"


def test_neighbours_that_could_be_one(trace: MakeTrace) -> None:
    # Of mul (40) and add (60) mul is saved, of add and sum (30) sum; not what repeats itself, has a
    # matrix product between, or is in another stream.
    opened = trace(
        kernel=f"""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        40     {MUL}
            1          0         1          7         100      160    {ADD}
            1          0         1          7         200      230    {SUM}
            1          0         1          7         300      400    {GEMM}
            1          0         1          7         500      560    {ADD}
            1          0         1          7         600      660    {ADD}
            1          0         1          8         670      700    {SUM}
        """
    )
    assert_rows(
        opened.query("finding_fusion"),
        f"""
        saved_ns culprit                      kernel
        70       '2 times, above all after' {MUL}
        """,
    )


def test_a_softmax_or_a_normalization_is_one_with_what_is_beside_it(trace: MakeTrace) -> None:
    # A cast of 40 before the loss, one of 30 after it; a sum of 20 before a norm, which no softmax
    # can be one with.
    opened = trace(
        kernel=f"""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        40     {COPY}
            1          0         1          7         40       140    {LOSS}
            1          0         1          7         140      170    {MUL}
            1          0         1          7         200      300    {GEMM}
            1          0         1          7         300      320    {ADD}
            1          0         1          7         320      420    {NORM}
            1          0         1          7         420      520    {LOSS}
        """
    )
    assert_rows(
        opened.query("finding_fusion"),
        f"""
        saved_ns culprit                      kernel
        90       '3 times, above all after' {COPY}
        """,
    )


def test_of_several_gpus_each_has_its_own(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        40     {MUL}
            1          0         1          7         100      160    {ADD}
            1          0         1          7         200      240    {MUL}
            1          0         1          7         300      360    {ADD}
            1          1         2          7         0        40     {MUL}
            1          1         2          7         100      160    {ADD}
        """,
        device="""
            process_id device_id device_uuid
            1          0         GPU-a
            1          1         GPU-b
        """,
    )
    # Of four pairs, one is of add and mul.
    assert_rows(
        opened.query("finding_fusion"),
        """
        gpu saved_ns
        0   107
        1   53
        """,
    )


@pytest.mark.parametrize("name", ["nvjet_a nvjet_b", "triton_poi_fused_a triton_poi_fused_b"])
def test_what_is_fused_or_computes_is_none(trace: MakeTrace, name: str) -> None:
    first, second = name.split()
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     {first}
            1          0         7         100      160    {second}
        """
    )
    assert opened.query("finding_fusion").count() == 0


def test_the_steps_of_a_reduction_of_cub_are_none(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     DeviceReduceKernel
            1          0         7         50       55     DeviceReduceSingleTileKernel
            1          0         7         60       61     DeviceScanInitKernel
            1          0         7         70       110    DeviceScanKernel
            1          0         7         120      150    {SUM}
        """
    )
    # Of the last two, the shorter one.
    assert_rows(opened.query("finding_fusion"), "saved_ns culprit\n30 'once, after'")


def test_copies_of_many_tensors_are_of_other_data(trace: MakeTrace) -> None:
    many = (
        "'void at::native::multi_tensor_apply_kernel<UnaryOpFunctor<int>, at::native::Copy<int>>()'"
    )
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     {SOFTMAX}
            1          0         7         50       90     {many}
            1          0         7         100      140    {MUL}
        """,
        kernel_name=f"""
            mangled demangled short
            {many}  {many}    multi_tensor_apply_kernel
        """,
    )
    assert opened.query("finding_fusion").count() == 0


def test_changes_of_layout(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         0        40     'void cudnn::ops::nchwToNhwcKernel<float>(int)'
            1          0         100      200    sm90_xmma_fprop_implicit_gemm_bf16
            1          0         300      320    'void cudnn::ops::nhwcToNchwKernel<float>(int)'
            1          0         400      410    'void nchwToFoldedNhwcKernel<float>(int)'
            1          0         500      510    'void foldedNhwcToNhwcKernel<float>(int)'
        """,
    )
    assert_rows(
        opened.query("finding_layout"),
        """
        saved_ns culprit                    kernel
        80       '4 kernels, above all in' 'void cudnn::ops::nchwToNhwcKernel<float>(int)'
        """,
    )


def test_what_miopen_does_around_convolutions_is_layout_and_nothing_to_fuse(
    trace: MakeTrace,
) -> None:
    # A model in NCHW on a GPU of AMD: to NHWC, a clear and a cast around the convolution, back.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     batched_transpose_32x32_half
            1          0         7         40       60     batched_transpose_16x32_half
            1          0         7         60       70     SubTensorOpWithScalar1d
            1          0         7         70       170    igemm_wrw_gtcx3_nhwc_bf16_bx0
            1          0         7         170      180    SubTensorOpWithCastTensor1d
            1          0         7         180      210    batched_transpose_32x32_half
            1          0         7         300      305    transpose_CNHW2NCHW_V2_2D_WG_off64
            1          0         7         400      410    SubTensorOpWithCastTensor1d
            1          0         7         410      420    {MUL}
            1          0         7         420      430    SubTensorOpWithScalar1d
        """,
    )
    assert_rows(
        opened.query("finding_layout"),
        """
        saved_ns culprit                    kernel
        95       '3 kernels, above all in' batched_transpose_32x32_half
        """,
    )
    assert opened.query("finding_fusion").count() == 0
    categories = {row["mangled"]: row["category"] for row in opened.query("kernel_rule")}
    assert categories["batched_transpose_16x32_half"] == "copy"


def test_channels_that_cudnn_pads_are_nothing_to_fuse(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        10     {MUL}
            1          0         7         10       20     nhwcAddPaddingKernel
            1          0         7         20       30     {MUL}
            1          0         7         30       40     cudnn::ops::scalePackedTensor_kernel
            1          0         7         40       50     {MUL}
        """
    )
    assert opened.query("finding_fusion").count() == 0


def test_kernels_that_only_copy(trace: MakeTrace) -> None:
    # Not what convolutions, collectives and the cache of attention need, nor a copy of the host.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     {COPY}
            1          0         7         40       100    {CAT}
            1          0         7         100      160    {CAT}
            1          0         7         200      300    {GEMM}
            1          0         7         300      310    nchwToNhwcKernel
            1          0         7         310      320    nhwcAddPaddingKernel
            1          0         7         320      330    chunk_cat_cuda_kernel
            1          0         7         330      340    reshape_and_cache_flash_kernel
            1          0         7         340      350    {MUL}
            1          0         7         350      360    SubTensorOpWithCastTensor1d
            1          0         7         360      370    recat_copy_async_kernel
        """,
        memcpy="""
            process_id device_id stream_id start_ns end_ns copy_kind
            1          0         7         400      900    DtoD
        """,
    )
    assert_rows(
        opened.query("finding_copy_kernels"),
        f"""
        saved_ns culprit                      kernel
        160      '3 times, above all in' {CAT}
        """,
    )
    assert_rows(
        opened.sql(
            "SELECT DISTINCT copies_for, category FROM kernel_rule"
            " WHERE copies_for <> '' ORDER BY 1"
        ),
        """
        copies_for    category
        cache         copy
        communication copy
        layout        copy
        library       copy
        padding       copy
        """,
    )


def test_one_kernel_that_copies_beside_others(trace: MakeTrace) -> None:
    # Two streams copy at once: 60 of the GPU's time.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        40     {COPY}
            1          0         8         0        60     {COPY}
        """,
    )
    assert_rows(
        opened.query("finding_copy_kernels"),
        f"""
        saved_ns culprit                    kernel
        60       '2 times, all of it in' {COPY}
        """,
    )


def test_attention_of_several_kernels(trace: MakeTrace) -> None:
    # Of queries and keys, a scale of 40, a softmax of 100, a dropout of 30, and with values. The
    # softmax of a loss comes behind a matrix product, too, but before none.
    opened = trace(
        kernel=f"""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         0        200    {GEMM}
            1          0         7         200      240    {MUL}
            1          0         7         240      340    {SOFTMAX}
            1          0         7         340      370    fused_dropout
            1          0         7         370      570    {GEMM}
            1          0         7         570      900    {LOSS}
            1          0         7         900      930    nll_loss_forward
            1          0         7         930      1130   {GEMM}
        """
    )
    assert_rows(
        opened.query("finding_attention"),
        f"""
        saved_ns culprit             kernel
        170      'above all around' {SOFTMAX}
        """,
    )


@pytest.mark.parametrize("between", [SUM, f"{MUL} {MUL} {MUL} {MUL}"])
def test_a_softmax_far_from_a_product_is_no_attention(trace: MakeTrace, between: str) -> None:
    names = [GEMM, *between.replace("' '", "'\n'").split("\n"), SOFTMAX, GEMM]
    rows = "\n".join(f"1 0 7 {at * 100} {at * 100 + 50} {name}" for at, name in enumerate(names))
    opened = trace(kernel=f"process_id device_id stream_id start_ns end_ns name\n{rows}")
    assert opened.query("finding_attention").count() == 0


FOREACH = "void multi_tensor_apply_kernel<TensorListMetadata<3>, {}<float, 3, 2, 0>, float>(int)"


def test_an_optimizer_of_several_kernels(trace: MakeTrace) -> None:
    """One that is fused takes as long as the two longest; norms are of other things."""
    names = ("BinaryOpScalarFunctor", "UnaryOpFunctor", "TernaryOpScalarFunctor", "LpNormFunctor")
    rows = "".join(
        f"1 0 {i * 100} {i * 100 + 10 * (i + 1)} '{FOREACH.format(name)}'\n"
        for i, name in enumerate(names)
    )
    head = "process_id device_id start_ns end_ns name\n"
    device = "process_id device_id\n1 0"
    assert_rows(
        trace(kernel=head + rows, device=device).query("finding_optimizer"),
        f"""
        gpu saved_ns culprit                     kernel
        0   10       "3 kernels, above all in"  "{FOREACH.format("TernaryOpScalarFunctor")}"
        """,
    )
    fewer = "".join(line + "\n" for line in rows.splitlines()[1:])
    assert trace(kernel=head + fewer, device=device).query("finding_optimizer").count() == 0
