"""What kernels of common libraries do, by their names."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace

from cupti_etl.api import Trace
from cupti_etl.capture.names import short_name

NAMES = {
    "communication": """
        ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
        ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)
        ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)
        void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)
        void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8, false>(c10::BFloat16*)
        void two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 8>(c10::BFloat16**)
        void c10d::symmetric_memory::barrier_kernel(unsigned int**, int, int, int, unsigned long)
        void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)
        void sglang::cross_device_reduce_2stage<half, 4>(sglang::RankData*)
        void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<8>(int)
        void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>(int)
        void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)
        void deep_ep::internode_ll::combine<true, 7168, 9>(void*)
        void some::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*)
        void some::ep::intranode::cached_notify_combine<8>(void**)
        void nvshmemi_transfer::barrier_on_stream_kernel_threadgroup<1>(int)
        nvshmemi_barrier_kernel(int)
        void mscclpp::allreduce7<__half>(int)
        userbuffers_fp16_sum_inplace_gpu_rw<8>
        void quickreduce::allreduce_prototype_twoshot<int>(int)""",
    "attention": """
        void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false>>(int)
        void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>(int)
        void flash::prepare_varlen_num_blocks_kernel<1, true>(int)
        void flashinfer::BatchPrefillWithPagedKVCacheKernel<(flashinfer::MaskMode)1>(int)
        void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0>(int)
        void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 4u>(__nv_bfloat16*)
        cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1
        fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)
        fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128
        void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<unsigned short>(int)
        kernel_unified_attention_2d
        reduce_segments
        _fwd_kernel
        _fwd_grouped_kernel_stage1
        _fwd_kernel_aligned_0d1d2d3d45d6de7de8c9de10de11c12de13de14c
        _fwd_kernel_0d1d2d34d5d6de7de8
        attn_fwd
        context_prefill_kernel
        bwd_kernel_dk_dv
        void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<int>>(int)
        _ZN5aiter30fmha_fwd_hd128_bf16_causal_groupE
        mla_dec_stage1_bf16_a16w16_subQ16_mqa16
        triton_flex_attention_0
        sage_fwd
        kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_0""",
    "gemm": """
        void cusparse::csrmv_v3_kernel<false, int, int, double, double, double, double, void>(int)
        void cusparse::csrmv_v3_partition_kernel<std::integral_constant<bool, false>, 256>(int)
        kernel_cutlass_kernel_quackgemm_sm90GemmSm90_object_at__TiledMMA_ThrLayoutVMNK21110_0
        void ck::kernel_moe_gemm_2lds<int>(int)
        triton_tem_fused_bmm_1
        Custom_Cijk_Alik_Bljk_HHS_BH_MT256x128x64
        nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT
        nvjet_tst_128x64_64x9_2x1_v_bz_TNT
        Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB1
        bmm_E4m3_E4m3E4m3_Fp32_t128x8x512u2_s6_et64x8_m64x8x32_cga1x1x1_16dp256b_rM_TN_transOut
        sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1
        void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>()
        void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(int)
        void cutlass::gemm<float>(float*)
        ampere_sgemm_128x64_nn
        void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 7168u, 2048u>(float*)
        void cublasLt::splitKreduce_kernel<32, 16, int, float>(cublasLt::cublasSplitKParams<float>)
        std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16>(int)
        fused_moe_kernel
        _matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu
        void marlin::Marlin<half, 256, 1, 8, 8>(int4 const*)
        void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<int>, true>(int)
        _ZN5aiter37fmoe_fp8_blockscale_g1u1_subGU_256E
        void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16>(int)
        triton_tem_fused_addmm_3
        triton_mm
        _lora_expand_kernel
        void flashinfer::gemm_rs_kernel<int>(int)""",
    "convolution": """
        sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64
        void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_128x128>()
        cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1
        void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false>(int, int)
        igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x256x32
        miopenSp3AsmConv_v30_3_1_gfx94x_fp32_f2x3_stride1
        void at::native::conv_depthwise2d_forward_kernel<1, c10::BFloat16, int>(int)
        cudnn::gemm::computeOffsetsKernel(cudnn::gemm::ComputeOffsetsParams)
        void flip_filter<float, float>(float*, float const*, int, int, int, int)
        void fft2d_r2c_32x32<float, false, 5u, true>(float2*, float const*, int, int, int, int)
        void ck::tensor_operation::device::kernel_batched_gemm_xdlops_bwd_weight<int>(int)
        void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128>>(int)""",
    "recurrent": """
        void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<32, 4>>(SSMParamsBase)
        _chunk_scan_fwd_kernel
        fused_recurrent_gated_delta_rule_fwd_kernel
        void LSTM_elementWise_fp<float, float, float>(int)""",
    "routing": """
        void moe::dev::finalize::finalizeKernel<int>(int)
        post_reorder_triton_kernel
        void ck_tile::kentry<1, ck_tile::MoeSortingKernel<int>>(int)
        void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, 32, int>(float const*)
        void vllm::moe::moe_align_block_size_kernel<int>(int*)
        void moe_fused_gate_kernel<float, 32>(void*)
        void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_bfloat16>(int)
        void some::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)
        void tile::expand_to_fused_with_scales_impl<int>(int)
        void tile::reduce_fused_impl<int>(int)
        _combined_routing_compute""",
    "normalization": """
        kernel_cutlass_kernel_flashinfernormRMSNormKernel_object_at__0
        void transformer_engine::normalization::ln_fwd_tuned_kernel<int>(int)
        void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)
        void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)
        void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)
        triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_rms_norm_0
        void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(float)
        _ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27RmsE
        void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<float>(long, float)""",
    "softmax": """
        void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(int)
        void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float>(int)
        void scaled_upper_triang_masked_softmax_warp_forward<__half, __half, float, 11>(int)
        triton_per_fused__softmax_0""",
    "sampling": """
        void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)
        void vllm::apply_repetition_penalties_kernel<float>(float*)""",
    "embedding": """
        void kn_entry_2c_sbhd_cached_indirect_inplace<OpCachedFwd, 0>(int)
        void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(int)
        void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)
        void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, 8>(int)
        void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int)
        split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1""",
    "optimizer": """
        void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizer<4>>(int)
        void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(int)""",
    "quantization": """
        sage_quant_kernel
        void tensorrt_llm::kernels::cvt_fp16_to_fp4<0, __nv_bfloat16>(int)
        void vllm::dynamic_per_token_scaled_fp8_quant_kernel<c10::BFloat16>(int)
        per_token_group_quant_8bit_kernel
        void cuda::per_channel_cast_and_transpose<256, 128, true, true>(void const*, float const*)
        void cuda::cast_back_impl<__nv_fp8x2_e4m3>(void const*, void*, float const*, int)
        void fbgemm_gpu::(anonymous namespace)::_FP8rowwise_to_float_cuda_kernel<float>(int)
        void transformer_engine::cast_transpose_fused_kernel<float>(int)""",
    "sort": """
        void rocprim::detail::trampoline_kernel<rocprim::radix_sort_onesweep_config>(int)
        void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)
        void cub::DeviceRadixSortOnesweepKernel<int>(int*)""",
    "reduction": """
        void at::native::reduce_kernel<512, 1, ReduceOp<float, WelfordOps<float, float, int>>>(int)
        sm50_xmma_pooling_coalescedC_NHWC_kMAX_3_False_execute_kernel_trt
        void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(int)
        void cub::DeviceScanKernel<int>(int*)
        void rocprim::detail::trampoline_kernel<rocprim::detail::wrapped_scan_config<long>>(int)""",
    "fft": """
        void vector_fft<256u, EPT<16u>, 1u>(int)""",
    "copy": """
        void at::native::multi_tensor_apply_kernel<UnaryOpFunctor<int>, at::native::Copy<int>>(int)
        void multi_tensor_apply_kernel<CopyFunctor<int, long, 2, 1, 1>, Copy<int, long>>(int)
        void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(int)
        void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(int)>(int)
        void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(int)
        void cudnn::ops::convertTensor_kernel<float, float, float, (cudnnKernelDataType_t)2>(float)
        SubTensorOpWithScalar1d
        __pgi_uacc_cuda_fill_42_gpu
        cast_kernel(float*, __half*)
        float2half(float const*, __half*, int)
        __amd_rocclr_copyBuffer
        __amd_rocclr_fillBufferAligned
        _copy_page_indices_kernel
        void at::native::(anonymous namespace)::tril_indices_kernel<long>(long*, long, long)
        void at::native::(anonymous namespace)::chunk_cat_cuda_kernel<c10::BFloat16, float>(int)
        void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)""",
    "random": """
        void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float>(int)
        void at::native::distribution_elementwise_grid_stride_kernel<int>()
        setup_rand_states(curandStateXORWOW*, long)
        void gen_sequenced<curandStateXORWOW, float2, int>(curandStateXORWOW*, float2*, ulong)
        void rocrand_impl::host::generate_kernel<int>(unsigned int*)""",
    "elementwise": """
        kernel_cutlass_add_kernel_tensorptrf32gmemalign16o10241_0
        void at::native::elementwise_kernel_manual_unroll<128, 4, at::native::add<int>>(int)
        void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)
        void vllm::act_and_mul_kernel<c10::BFloat16, vllm::silu_kernel<c10::BFloat16>>(int)
        void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, silu>(int)
        void at::native::(anonymous namespace)::upsample_nearest2d_nhwc_out_frame<float>(int)
        void cub::_kernel_agent<cub::ParallelForAgent<cub::for_each_f<__normal_iterator<>>>>()
        FusedBiasAddCUDAKernelHalf(__half*, __half const*)
        void layer::gateResidual_kernel<float>(float*)
        invokeAddResidual(float*)""",
    "fused": """
        triton_poi_fused_convolution_relu_2
        triton_red_fused_add_all_gather_into_tensor_mm_1
        triton__0d1d2d3d
        nvfuser_pointwise_f0_c1_r0_g0(int)
        loop_multiply_fusion_3
        fused_split_multiply_kernel""",
    "other": """
        spin
        wave_residual(float const*, float*, int)
        raycast(float*, int)
        operand_init(float*, int)
        flip_spins(signed char*, int)
        calcAllLowestResidualsGPU
        render(vec3*, int, int, curandStateXORWOW*)
        walk(curandStatePhilox4_32_10*, float*)
        mystery""",
}
EXPECTED = [
    (name.strip(), category) for category, names in NAMES.items() for name in names.split("\n")[1:]
]


def opened(make: MakeTrace, *names: str) -> Trace:
    rows = [f"1 0 1 7 {at} {at + 10} '{name}'" for at, name in enumerate(names)]
    shorts = [f"'{name}' '{name}' '{short_name(name)}'" for name in names]
    return make(
        kernel="process_id device_id context_id stream_id start_ns end_ns name\n" + "\n".join(rows),
        kernel_name="mangled demangled short\n" + "\n".join(shorts),
    )


def test_the_first_rule_that_a_name_meets_says_its_category(trace: MakeTrace) -> None:
    rows = opened(trace, *(name for name, _ in EXPECTED)).query("kernel_rule")
    found = {row["mangled"]: (row["category"], row["rule"]) for row in rows}
    wrong = [(name, *found[name], want) for name, want in EXPECTED if found[name][0] != want]
    assert not wrong
    assert all((rule is None) == (category == "other") for category, rule in found.values())


def test_without_readable_names_the_mangled_ones_say_it(trace: MakeTrace) -> None:
    rows = trace(
        kernel="name\n _Z26multimem_all_reduce_kernelIN3c108BFloat16ELi16EEvPT_m\n -"
    ).query("kernel_rule")
    assert {(row["category"], row["rule"]) for row in rows} == {
        ("communication", "all_reduce"),
        ("other", None),
    }


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (
            "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64>(int)",
            "cutlass_80_tensorop_s1688gemm_256x64",
        ),
        ("void cutlass::gemm<float>(float*)", "gemm"),
        ("void cutlass::Kernel<float>(float*)", "cutlass::Kernel"),
        (
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwd<int>>>()",
            "FlashAttnFwd",
        ),
        (
            "void rocprim::detail::trampoline_kernel<rocprim::default_config,"
            " rocprim::detail::partition_config_selector<int>>(int)",
            "partition_config_selector",
        ),
        ("void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<int>>(int)", "FmhaFwdKernel"),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(int)",
            "gemvx::kernel",
        ),
        ("kernel(int)", "kernel"),
    ],
)
def test_an_argument_is_shown_only_where_it_is_an_operator(
    trace: MakeTrace, name: str, shown: str
) -> None:
    assert [row["shown"] for row in opened(trace, name).query("kernel_rule")] == [shown]
