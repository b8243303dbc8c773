-- Floating point operations of PyTorch's operators, how fast they were, and what they could be.
--
-- computed: _operator_flops by name, sizes and type of elements: products of matrices,
--   convolutions, attention, recurrent networks of cuDNN, as far as the operators launched work by
--   themselves. Rates are divided by the sum of the durations on the GPU. An operator is bound by
--   compute if it has more operations a byte than the chip does in the time of a byte, else by
--   memory.
-- requires:
--   _operator
--   _any_input_size: no sizes of inputs were recorded (capture with --pytorch; torch.profiler
--     writes them with record_shapes=True).
--   _operator_flops
-- limits: NULL where sizes were not recorded or the chip is not listed. Peaks are of data sheets;
--   for float that of TF32, or that without tensor cores where kernels say so (_device_peak).
--   Attention counts as if nothing were masked. Bytes are the least that must move: caches and
--   copies between layouts are not seen.
-- front: How many TFLOP/s do my operators reach, and what holds them up?
-- first: gpu_ns, tflops_per_s, peak_pct, bound, calls, name
-- label: name = operator(input_dims, element_type)
-- chart: bars(name, tflops_per_s)
-- alias: with_flops, theoretical_flops, arithmetic_intensity, gemm_efficiency
-- columns:
--   name VARCHAR: Name of the operator.
--   kind VARCHAR: matrix product, convolution, convolution backward, attention or recurrent.
--   input_dims VARCHAR: Sizes of its inputs, as JSON; NULL if they were not recorded.
--   element_type VARCHAR: Type of the elements of its first factor, as PyTorch writes it.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   calls BIGINT [calls]: How often it ran.
--   gpu_ns BIGINT [ns]: Sum of the durations of what it launched by itself.
--   flops DOUBLE [operations]: Floating point operations of one call.
--   bytes DOUBLE [bytes]: Inputs and result of one call.
--   tflops_per_s DOUBLE [Tflop/s]: Operations of all calls divided by gpu_ns.
--   gbytes_per_s DOUBLE [GB/s]: Bytes of all calls divided by gpu_ns.
--   peak_pct DOUBLE [%]: tflops_per_s as a share of the peak of the chip for this type.
--   memory_pct DOUBLE [%]: gbytes_per_s as a share of the bandwidth of the chip's memory.
--   intensity DOUBLE [operations/byte]: flops divided by bytes.
--   bound VARCHAR: compute or memory: which roof is nearer; NULL if not known.
WITH sums AS (
    SELECT name, kind, input_dims, element_type, process_id, device_id, gpu, count(*) AS calls,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
           CASE WHEN count(flops) = count(*) THEN avg(flops) END AS flops,
           CASE WHEN count(bytes) = count(*) THEN avg(bytes) END AS bytes
    FROM _operator_flops
    GROUP BY name, kind, input_dims, element_type, process_id, device_id, gpu
),
rated AS (
    SELECT sums.name, kind, input_dims, sums.element_type, gpu, sum(calls)::BIGINT AS calls,
           sum(sums.gpu_ns)::BIGINT AS gpu_ns, any_value(flops) AS flops,
           any_value(bytes) AS bytes, max(peak_tflops) AS peak_tflops, max(peak_gbps) AS peak_gbps
    FROM sums
    LEFT JOIN _device_peak AS peak
        ON peak.process_id = sums.process_id
        AND peak.device_id = sums.device_id
        AND peak.element_type = sums.element_type
        AND peak.is_convolution = starts_with(kind, 'convolution')
    GROUP BY sums.name, kind, input_dims, sums.element_type, gpu
),
speeds AS (
    SELECT *, flops * calls / nullif(gpu_ns, 0) / 1e3 AS tflops_per_s,
           bytes * calls / nullif(gpu_ns, 0) AS gbytes_per_s, flops / nullif(bytes, 0) AS intensity
    FROM rated
)
SELECT name, kind, input_dims, element_type, gpu, calls, gpu_ns, flops, bytes, tflops_per_s,
       gbytes_per_s, 100.0 * tflops_per_s / peak_tflops AS peak_pct,
       100.0 * gbytes_per_s / peak_gbps AS memory_pct, intensity,
       CASE WHEN intensity >= 1e3 * peak_tflops / peak_gbps THEN 'compute'
            WHEN intensity < 1e3 * peak_tflops / peak_gbps THEN 'memory' END AS bound
FROM speeds
WHERE EXISTS (SELECT 1 FROM _any_input_size)
ORDER BY gpu_ns DESC, name, input_dims, element_type, gpu
