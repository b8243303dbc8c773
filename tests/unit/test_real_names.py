"""Names as compilers and libraries make them, from mangled to short."""

from __future__ import annotations

import pytest

from cupti_etl.capture.demangle import Demangler
from cupti_etl.capture.names import short_name

# Of PyTorch, cuBLAS, cuDNN, NCCL, CUTLASS, CUB, Triton, and of test programs.
MANGLED = {
    "_Z6vecAddPKfS0_Pfi": "vecAdd",
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implINS0_11FillFunctorIfEEEEvRNS_"
    "18TensorIteratorBaseERKT_EUliE_EEviT1_": "elementwise_kernel",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE"
    "St5arrayIPcLm3EEEEviT0_T1_": "vectorized_elementwise_kernel",
    "_ZN2at6native52_GLOBAL__N__68ef8de6_17_ForeachTernaryOp_cu_dbc21ac625multi_tensor_apply_kernelIiEE"
    "vT_": "multi_tensor_apply_kernel",
    "_ZN12_GLOBAL__N_16kernelEPf": "kernel",
    "_ZN7cutlass6KernelI68cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_nn_align8EEv"
    "NT_6ParamsE": "Kernel",
    "_ZN3cub17CUB_200700_900_NS20DeviceScanInitKernelINS0_13ScanTileStateIiLb1EEEEEvT_i": (
        "DeviceScanInitKernel"
    ),
    "_Z27ncclDevKernel_AllReduce_Sum4Argi": "ncclDevKernel_AllReduce_Sum",
    "_ZZN3foo3barEiENKUliE_clEi": "operator()",
    "_ZN1SixEm": "operator[]",
    "_ZN1SlsEi": "operator<<",
    "_ZNK1ScviEv": "operator int",
    "_Z1fIXadL_ZNK1SltERKS0_EEEvi": "f",
    "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT": "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": (
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
    ),
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0": (
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
    ),
    "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(float)": (
        "bn_fw_tr_1C11_singleread"
    ),
    "kernel_cutlass_add_kernel_tensorptrf32gmemalign16o10241_tensorptrf32gmemalign16o10241_0": (
        "kernel_cutlass_add_kernel"
    ),
    "kernel_cutlass_kernel___main__ScaledAdd_object_at__tensorptrf32gmemalign16o10241__TiledCopy_"
    "TilerMN1281_TVLayouttiled32441_CopyAtom_ThrID10_TVLayoutSrc1100_Valuetypef32_0": (
        "kernel_cutlass_kernel___main__ScaledAdd"
    ),
    "kernel_cutlass_first__tensorptrf32gmemalign16o10241_0": "kernel_cutlass_first",
    "kernel_cutlass_layout_of_tensors_0": "kernel_cutlass_layout_of_tensors_0",
    "unsigned int* ns::foo<int>(int)": "foo",
    "decltype(auto) f<int>(int)": "f",
    "S::~S()": "~S",
    "_Z": "_Z",
    "\ufffd\ufffd": "\ufffd\ufffd",
}


@pytest.mark.parametrize(("name", "short"), MANGLED.items())
def test_short_name_of_a_mangled_one(name: str, short: str) -> None:
    assert short_name(Demangler().demangle(name)) == short


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void operator_kernel<int>(int)", "operator_kernel"),
        ("void fused_operator<float, 4>(float*)", "fused_operator"),
        ("int my_operator(int)", "my_operator"),
    ],
)
def test_operator_as_part_of_a_word(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("_Z2k4IP1YEDtptfp_1xET_", "k4"),
        ("_Z2k2IXadL_ZN1SptEvEEEvi", "k2"),
        ("_Z2k6ILi4EEv1XIXrsT_Li1EEXgtrsT_Li1ELi2EEE", "k6"),
        ("std::enable_if<((sizeof (int))>(2)), void>::type h<int>(int)", "h"),
    ],
)
def test_greater_than_inside_arguments(name: str, short: str) -> None:
    assert short_name(Demangler().demangle(name)) == short
