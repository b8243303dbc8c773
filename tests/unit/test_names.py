"""Short and demangled names of kernels as real programs have them."""

from __future__ import annotations

import pytest

from cupti_etl.capture.demangle import Demangler
from cupti_etl.capture.names import KernelNames, mangled_arguments, short_name

CASES = {
    "kernel": "kernel",
    "void f<int>(int*)": "f",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)": (
        "vectorized_elementwise_kernel"
    ),
    "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out"
    "(c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda(long)#1}>(int)": (
        "elementwise_kernel_with_index"
    ),
    "void cub::CUB_200_SM_900::DeviceScanKernel<cub::Policy<int>, int*>(int*, int)": (
        "DeviceScanKernel"
    ),
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64>"
    "(cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64::Params)": "Kernel2",
    "triton_poi_fused_add_0": "triton_poi_fused_add_0",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n": "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n",
    "void thrust::cuda_cub::core::_kernel_agent<Agent<A, (B)1> >(int)": "_kernel_agent",
    "fake::space::kernel_1(float const*, float*, int)": "kernel_1",
    "Custom_Cijk_Ailk_Bljk_HHS_BH_MT128x64x32_MI16x16x1_SN_WG64_4_1.kd": (
        "Custom_Cijk_Ailk_Bljk_HHS_BH_MT128x64x32"
    ),
    "Custom_Cijk_Alik_Bljk_HHS_BH_MT256x128x64": "Custom_Cijk_Alik_Bljk_HHS_BH_MT256x128x64",
    "S::operator()(int) const": "operator()",
    "void ns::S::operator<<(int)": "operator<<",
    "A<int>::operator[](unsigned long)": "operator[]",
    "f(int) [clone .kd]": "f",
    "unsigned long long g(int)": "g",
    "void h<&(x::y)>()": "h",
    "": "",
}


@pytest.mark.parametrize(("demangled", "short"), CASES.items())
def test_short_name(demangled: str, short: str) -> None:
    assert short_name(demangled) == short


@pytest.mark.parametrize(
    ("mangled", "demangled"),
    [
        ("_Z3fooi", "foo(int)"),
        (
            "_ZN4demo10vector_addEPKfS1_Pfj",
            "demo::vector_add(float const*, float const*, float*, unsigned int)",
        ),
        # Types that libstdc++ does not know; references to what stood before find it.
        (
            "_ZN5lucky4normIDF16bDF16_Li256EEEvPT0_PT_PfS4_",
            "void lucky::norm<__bf16, _Float16, 256>(_Float16*, __bf16*, float*, __bf16*)",
        ),
        ("_Z1fDv8_DF16b", "f(__bf16 __vector(8))"),
        ("triton_poi_fused", "triton_poi_fused"),
        ("_Znot_a_name", "_Znot_a_name"),
        ("main", "main"),
    ],
)
def test_demangle(mangled: str, demangled: str) -> None:
    assert Demangler().demangle(mangled) == demangled


@pytest.mark.parametrize(
    ("mangled", "short"),
    [
        (f"_ZN2at5functI{'x' * 5000}", "funct"),
        (f"_Z{'1' * 5000}", f"_Z{'1' * 5000}"),  # no number that Python reads has so many digits
    ],
)
def test_a_name_that_cannot_be_demangled(mangled: str, short: str) -> None:
    names = KernelNames()
    names.add([mangled])
    (row,) = names.take()
    assert (row["demangled"], row["short"]) == (mangled, short)


def test_the_arguments_of_a_name_that_cannot_be_demangled() -> None:
    found = mangled_arguments("_ZN2at5functIDF16bNS_4math3AddELin4ELb1ELNS_4ModeE2ELS3_7E99EvT_")
    assert found == ["Add", "-4", "true", "Mode", "2", "7"]
    assert mangled_arguments("plain_64") == []


def test_a_name_is_given_once() -> None:
    names = KernelNames()
    names.add(["_Z3fooi", "plain"])
    names.add(["plain"])
    assert [row["short"] for row in names.take()] == ["foo", "plain"]
    names.add(["plain", "new"])
    assert [row["mangled"] for row in names.take()] == ["new"]
