-- What kind of work each kernel does, by its name, and the rule that says so.
--
-- computed: A kernel is communication if the trace gives most of its executions the arguments of a
--   collective (_kernel_told). Else the first of the rules below that the name meets
--   decides: it holds one of the rule's words, and the word within, if there is one. Names are
--   compared in lower case, each run of other characters than letters and digits as one _, with
--   one before and one behind, and ^ and $ at the ends. Rules look at the function's own name, for
--   functions that libraries call by one name for all (Kernel) at the whole one; those on "whole"
--   always at the whole one, which has namespaces, template and call arguments.
-- materialized: Made once for an opened trace, as every activity is told apart by it.
-- limits: The rules know names of common libraries and compilers; "other" is what none knows. Of a
--   name, the first 4096 characters count. Kernels that a compiler made of pointwise operators are
--   "fused", whatever they were fused with.
-- scope: whole
-- columns:
--   mangled VARCHAR: Mangled name; one row each.
--   shown VARCHAR: Function name; of functions that are all called Kernel or alike, that of the
--     operator.
--   category VARCHAR: communication, attention, gemm, convolution, recurrent (and state space
--     models), routing (of mixtures of experts), normalization, softmax, sampling, embedding (and
--     indices and positions), optimizer, quantization, sort, reduction, fft, copy (and changes of
--     layout), random, elementwise, fused (by a compiler), or other.
--   rule VARCHAR: The word that decided, "arguments" where it was those; NULL for other.
--   is_double BOOLEAN: Whether its name says that it computes doubles: that of a matrix product or
--     convolution by dgemm, f64f64 and others, that of anything else by the type that comes first.
--   is_plain_float BOOLEAN: Whether it is one that says that it computes floats without tensor
--     cores (simt, ffma, sgemm, scudnn and others).
--   copies_for VARCHAR: Of a copy that is part of something else, of what: layout (the order of
--     channels that a convolution wants), padding (the number of them), library (what cuDNN,
--     MIOpen and OpenACC's runtime clear, cast and copy for themselves), cache (of keys and
--     values) or communication (what collectives send and receive in one piece).
--   aligned_values INTEGER [values]: Of a matrix product or convolution with tensor cores that says
--     so (align1 and the like), how many neighbouring values of a matrix it can load at once.
WITH rules AS (
    SELECT row_number() OVER () AS place, category, part, within,
           unnest(regexp_split_to_array(words, '\s+')) AS word
    FROM (VALUES
    -- Compilers name a kernel after all operators that it came from.
    ('normalization', 'own', '^_triton_per_', 'norm'),
    ('normalization', 'own', '^_triton_red_', 'norm'),
    ('softmax', 'own', '^_triton_per_', 'softmax cross_entropy nll_loss'),
    ('softmax', 'own', '^_triton_red_', 'softmax cross_entropy nll_loss'),
    ('fused', 'own', '^_triton_', '_triton_poi_ _triton_red_ _triton_per_ _triton_for_
        _triton_spl_ _triton_unk_ _triton_0d _triton_fused_'),
    ('normalization', 'own', '^_kernel_cute_', 'norm'),
    ('softmax', 'own', '^_kernel_cute_', 'softmax cross_entropy crossentropy'),
    ('quantization', 'own', '^_kernel_cute_', 'quant'),
    -- Matrix products that send what they made, or multiply what they receive.
    ('gemm', 'whole', 'gemm', 'gemm_all_reduce gemm_allreduce gemmallreduce gemm_ar_ gemm_rs_
        gemm_reduce_scatter gemmreducescatter _ag_gemm all_gather_gemm allgather_gemm
        allgathergemm'),
    ('communication', 'whole', '', 'nccl rccl nvshmem rocshmem msccl oneccl deep_ep deepep_
        _ep_internode _ep_intranode pplx _mori_ epdispatch epcombine allreduce all_reduce
        cross_device_reduce quickreduce quick_reduce allgather all_gather reducescatter
        reduce_scatter alltoall all_to_all all2all _a2a_ moea2a sendrecv send_recv multimem
        symmetric_memory symm_mem userbuffers lamport mnnvl moe_comm moecomm put_signal
        wait_signal'),
    -- The cache of keys and values, which is filled beside attention.
    ('copy for cache', 'own', '', 'reshape_and_cache concat_and_cache append_paged appendpaged
        cache_kernel copy_blocks swap_blocks gather_cache set_kv_buffer set_mla_kv store_kv
        storekv kv_indices page_indices kv_buffer req_to_token update_kv_cache fill_kv_cache
        cp_gather_'),
    ('attention', 'own', '', 'attention attn fmha mmha mha_ _mha xqa sdpa flash_ flashatt
        flashmla flashdecod withkvcache withpagedkv withraggedkv mergestate _mla_ mla_ mqa_logits
        _pa_ pa_decode pa_fwd _fwd_kernel_stage _fwd_kernel_aligned _fwd_grouped_kernel
        ^_fwd_kernel_$ ^_fwd_kernel_0d ^_bwd_kernel_$ ^_bwd_kernel_0d bwd_kernel_dk_dv
        bwd_kernel_dq bwd_preprocess _decode_att reduce_segments flex_decoding paged_decode
        prefill sage_fwd sage_bwd'),
    ('attention', 'whole', '', '_flash_ flash_fwd flash_bwd pytorchmemeff'),
    ('embedding', 'own', '', 'rotary _rope rope_ applyrope biasrope normrope qkrope ropekernel
        ropequant kn_entry_'),
    ('gemm', 'own', '', 'wgrad_gemm dgrad_gemm gemm_conv1d'),
    ('convolution', 'own', '', 'conv1d conv2d conv3d convolution convolve _conv_ conv_ asmconv
        openconv winograd wgrad dgrad fprop im2col col2im im2d2col col2im2d scudnn_ hcudnn_
        igemm_fwd igemm_bwd igemm_wrw implicit_gemm xdlops_bwd_ conv_depthwise flip_filter
        cudnn_infer_ cudnn_train_'),
    -- cuDNN's convolutions by FFT; cuFFT calls none so.
    ('convolution', 'own', '', 'fft1d_r2c_ fft1d_c2r_ fft2d_r2c_ fft2d_c2r_'),
    ('convolution', 'whole', '', 'cask_cudnn cask_5x_cudnn cask_plugin_cudnn cudnn_cnn
        cudnn_winograd cudnn_gemm_compute'),
    ('recurrent', 'own', '', 'rnn _gru_ gru_ lstm selective_scan selective_state mamba _ssd_ _ssm
        chunk_scan chunk_state chunk_cumsum bmm_chunk state_passing gated_delta delta_rule
        fused_recurrent chunk_fwd chunk_bwd recompute_w_u solve_tril chunk_local wkv'),
    ('gemm', 'own', 'moe', 'fused_moe_kernel gemm moe_wna16 ck_moe fmoe_ _fmoe marlin moe_stage
        moe_mm moe_mxfp moe_fp'),
    ('gemm', 'own', 'expert', 'gemm'),
    -- Adapters of low rank.
    ('gemm', 'own', '', 'lora_expand lora_shrink sgmv bgmv'),
    ('routing', 'own', '', 'routing topkgating topk_gating moealign moe_align moe_sum moesum
        moesort moe_sort moe_permut moe_unpermut moe_fused_gate grouped_topk groupedtopk
        topk_softmax topksoftmax topk_sigmoid topk_forward topk_backward get_dispatch_layout
        expandinputrows expand_input_rows finalizemoe finalize_moe finalize_matmul_scatter expert
        bitmatrix ep_scatter ep_gather row_id_map unpermute ^_permute_kernel_$ _permute_with_mask
        sort_chunks pre_reorder post_reorder moe aux_fi_ expand_to_fused reduce_fused fused_mapping
        unique_group_indices mask_indices_by_tp topk_gate topk_sum_and_topk sum_gate'),
    ('routing', 'whole', '', 'moe_dev_ moe_finalize'),
    -- TensorRT's kernels have it in their names, whatever they do.
    ('reduction', 'own', '', 'xmma_pooling'),
    ('gemm', 'own', '', 'gemm gemv gemmk matmul nvjet cublas xmma splitk split_k dot_kernel cijk_
        _bmm_ ^_bmm _mm_ addmm _mm_kernel _scaled_mm int8_mm fp8_mm grouped_mm _gmm_ cutlass wmma
        mfma wvsplit llmm1 skinny marlin machete _awq_ gptq exllama w4a16 w8a8 w8a16 a8w8 a4w4
        a16w tinygemm contraction cutensor trsm syrk spmm spmv csrmm csrmv cusparse rocblas hipblas
        matvec _ger_'),
    -- PyTorch's variances and standard deviations.
    ('reduction', 'whole', '^_reduce_kernel_', 'welfordops'),
    ('normalization', 'whole', '', 'layer_norm layernorm batch_norm batchnorm rms_norm rmsnorm
        group_norm groupnorm instance_norm instancenorm l2norm qk_norm qknorm welford _bn_fw
        _bn_bw _bn_ gammabeta _ln_fwd _ln_bwd cucomputegradinput rowwisemoments
        computefusedparams computeinternalgradients computebackwardfusedparams'),
    ('softmax', 'whole', '', 'softmax cross_entropy crossentropy nll_loss logsumexp'),
    ('embedding', 'own', '', 'embedding embed_ _embs_ krn_partial _tbe_ compute_grad_weight'),
    -- What it is applied for need not be an optimizer.
    ('copy', 'whole', 'multi_tensor_apply', '_copy_ copyfunctor'),
    ('optimizer', 'own', '', 'multi_tensor multitensor adam _sgd sgd_ sgdkernel optimizer adagrad
        _lamb_ _muon_ newton_schulz'),
    ('elementwise', 'own', '', 'kernel_with_index upsampl downsampl interpolat grid_sampl
        gridsampl'),
    ('sampling', 'own', '', 'sampling multinomial gumbel penalt rejection_ top_p topp min_p_
        renormprob renorm_prob eagle bad_words stop_words bitmask'),
    ('quantization', 'own', '', 'quantiz quant_ _quant dequant quantkernel fp8rowwise fp8_qparam
        cast_fp8 castfp8 fp8_cast to_fp8 to_fp4 scaled_fp8 cast_transpose per_token_cast
        per_block_cast per_channel_cast cast_back mxfp8 mxfp4 nvfp4 cvt_fp _cvt_'),
    ('quantization', 'whole', '', 'float_to_hfp8 hfp8_to_float'),
    ('sort', 'own', '', 'sort topk top_k radix bitonic merge_kernel'),
    -- Also what makes their indices.
    ('copy', 'own', '', 'tril triu'),
    ('embedding', 'own', '', 'gather scatter index indices offsets_range pooled_embs bucketize
        sparse_features permute_2d jagged lookup compute_position alloc_extend alloc_decode'),
    ('fft', 'own', '', 'fft'),
    -- The state of a generator is an argument of kernels that draw numbers for something else.
    ('random', 'own', '', 'curand rocrand philox _rand_init _rand_state ^_gen_sequenced_
        ^_generate_seed_ ^_gen_sobol_'),
    ('random', 'whole', '', 'dropout rocrand_impl distribution_ bernoulli random'),
    ('fused', 'own', '', '_triton_ inductor nvfuser fusion _myl_ myelin _xla_ ^_wrapped_ tvmgen
        cudacodegen'),
    ('reduction', 'own', '', 'pool reduc scan argmax argmin histogram norm cumsum cumprod _sum_
        mean_ moments bincount runlength run_length nonzero flag_kernel deviceselect partition
        compact segment asum nrm2 ^_cleanup_$'),
    -- MIOpen's batched_transpose_32x32_half is around its convolutions alone.
    ('copy for padding', 'own', '', 'nhwcaddpadding'),
    ('copy for library', 'own', '', 'subtensorop converttensor_kernel scalepackedtensor
        pgi_uacc_cuda_fill'),
    ('copy for communication', 'own', '', 'chunk_cat split_with_sizes recat_copy'),
    ('copy for layout', 'own', '', 'nchwtonhwc nhwctonchw nchw2nhwc nhwc2nchw tofoldednhwc
        foldednhwcto nchw2cnhw cnhw2nchw'),
    ('copy for layout', 'own', '^_batched_transpose_', '_4x _16x _32x _64x _128x _256x'),
    ('copy', 'own', '', 'copy transpos permut catarray memcpy memset fill concat cat_ slice stack
        flip_cuda flip_kernel flip_apply _roll_ repeat expand_kernel compute_cuda_kernel pad_
        padding tensor_transform tensortransform reformat layout convert _cast typecast
        float2half half2float unpack pack_ arange linspace zero strided unfold swizzle shuffle
        swapdimension'),
    ('copy', 'whole', '', 'direct_copy fillfunctor copy_kernel arange'),
    ('elementwise', 'own', '', 'elementwise pointwise vectorized axpy activation unrolled
        act_and_mul silu gelu relu swiglu sigmoid tanh clamp bias _add_ add_ _mul_ mul_ scal
        where compare unary binary ternary masked modulat addresidual residualadd residual_add
        gateresidual gate_residual optensor op_tensor lerp foreach for_each parallelfor
        parallel_for transform map_ apply activ _pow _exp op1dtensor op2dtensor op3dtensor
        op4dtensor cupy_ eigenmetakernel'),
    -- A name that says no more may be a compiler's.
    ('fused', 'own', '', 'fused')
    ) AS listed(category, part, within, words)
),
names AS (
    SELECT name AS mangled, coalesce(2 * told > executions, false) AS is_told FROM _kernel_told
),
shown AS (
    SELECT names.mangled, is_told, left(coalesce(demangled, names.mangled), 4096) AS whole,
           left(coalesce(short, names.mangled), 4096) AS short,
           -- What CUTLASS, Composable Kernel and CUB have around every operator.
           regexp_full_match(lower(short), '(device|global|static|main|trampoline)_?kernel|'
                                           'kernel\d?|kentry|_kernel_agent|operator\(\)')
               AS is_frame,
           regexp_extract(whole, '(?i:::(?:\w*kernel\d?|kentry|_kernel_agent)<)'
                                 '(?:\d+, |(?:\w+::)*default_config, )*'
                                 '(?:\w+::)*(?:enable_\w+<(?:\w+::)*)?(\w+)', 1)
               AS operator,
           regexp_extract(whole, '(?i:(\w+)::(?:\w*kernel\d?|kentry|_kernel_agent)<)', 1)
               AS namespace
    FROM names
    LEFT JOIN _readable_name AS called ON called.mangled = names.mangled
),
texts AS (
    SELECT mangled, is_told, whole,
           CASE WHEN NOT is_frame OR whole = short THEN short
                WHEN regexp_full_match(operator, '(unsigned_)?(bool|char|short|int|long|half|float|'
                                                 'double|void|true|false|\d*)')
                THEN concat_ws('::', nullif(namespace, ''), short)
                ELSE operator END AS shown,
           -- Every kernel of CuTe's Python is one of kernel_cutlass, whatever it computes.
           -- The iterators of GCC's vectors are normal_iterator, and norm nothing.
           '^_' || trim(regexp_replace(regexp_replace(replace(
               lower(CASE WHEN is_frame THEN whole ELSE short END), 'normal_iterator', ''),
               '^kernel_cutlass_', 'kernel_cute_'), '[^a-z0-9]+', '_', 'g'), '_') || '_$' AS own,
           '^_' || trim(regexp_replace(lower(whole), '[^a-z0-9]+', '_', 'g'), '_') || '_$'
               AS full_name
    FROM shown
),
met AS (
    SELECT mangled, any_value(is_told) AS is_told, any_value(whole) AS whole,
           any_value(shown) AS shown, arg_min(word, place) AS word,
           CASE WHEN any_value(is_told) THEN 'communication'
                ELSE coalesce(arg_min(rules.category, place), 'other') END AS kind
    FROM texts
    LEFT JOIN rules
        ON contains(CASE part WHEN 'own' THEN own ELSE full_name END, word)
        AND contains(own, within)
    GROUP BY mangled
),
told_apart AS (
    SELECT *, kind IN ('gemm', 'convolution') AS multiplies,
           -- As a type of functors, of functions, or of arrays: arguments are of scalars, too.
           replace(whole, 'optional<double', '') AS said
    FROM met
)
SELECT mangled, shown, split_part(kind, ' ', 1) AS category,
       CASE WHEN is_told THEN 'arguments' ELSE word END AS rule,
       CASE WHEN multiplies
            THEN regexp_matches(said, '(^|[^a-z])[dz](gemm|884)|f64f64|_engine(_NHWC)?<double')
            ELSE regexp_matches(said, '\w<(\d+, )?double\b|lambda\(double\)|float64') END
           AS is_double,
       multiplies AND NOT is_double
           AND regexp_matches(whole, 'simt|ffma|sgemm|scudnn|engine_float|_engine(_NHWC)?<float')
           AS is_plain_float,
       nullif(split_part(kind, ' for ', 2), '') AS copies_for,
       CASE WHEN multiplies
            THEN TRY_CAST(regexp_extract(whole, 'tensorop\w*_align(\d+)', 1) AS INTEGER)
            END AS aligned_values
FROM told_apart
