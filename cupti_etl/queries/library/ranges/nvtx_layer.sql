-- GPU time by layer of a model, as ranges name them, and which layers are slower than their like.
--
-- computed: range_gpu summed over ranges of one name: modules of PyTorch (nn.Module: ...) and NVTX
--   ranges with layer, block, stage, encoder, decoder, expert or alike and a number in their name.
--   Layers are alike if only the numbers of their names differ; ratio compares the mean of one
--   with the median of these. Times on GPUs are sums of durations.
-- requires:
--   marker: no NVTX ranges were recorded.
--   gpu_activity
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
--   _layer_span: no range is named like a layer: a word such as layer, block or encoder, and a
--     number.
-- none: no work on GPUs was asked for in a range that is named like a layer.
-- limits: Names decide. Layers that lie in each other both count what the inner one asked for; of
--   those of one name, the outermost alone counts.
-- front: Which layer is slow?
-- first: layer, percent, mean_gpu_ns, ratio, gpu_ns, exclusive_gpu_ns, runs, gpu
-- chart: bars(layer, gpu_ns)
-- alias: nvtx_layer_breakdown, layer_summary
-- columns:
--   layer, kin of _layer_span
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   percent DOUBLE [%]: gpu_ns as a share of the time on that GPU of all ranges together, each
--     piece of work once.
--   runs BIGINT [ranges]: How often it ran.
--   activities BIGINT [activities]: Finished activities that it asked for.
--   gpu_ns BIGINT [ns]: Sum of their durations.
--   exclusive_gpu_ns BIGINT [ns]: The same without those of ranges inside.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by runs.
--   host_ns BIGINT [ns]: Time on the host; without unfinished ones.
--   ratio DOUBLE: mean_gpu_ns divided by its median over layers that are alike; NULL for one alone.
WITH everything AS (
    SELECT gpu, sum(exclusive_gpu_ns) AS gpu_ns FROM range_gpu GROUP BY gpu
),
sums AS (
    SELECT layer, kin, span.process_id, work.gpu, count(*) AS runs,
           sum(activities)::BIGINT AS activities, TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(exclusive_gpu_ns) AS BIGINT) AS exclusive_gpu_ns,
           TRY_CAST(coalesce(sum(host_ns), 0) AS BIGINT) AS host_ns
    FROM _layer_span AS span
    JOIN range_gpu AS work ON work.range_id = span.range_id
    GROUP BY layer, kin, span.process_id, work.gpu
)
SELECT layer, kin, process_id, sums.gpu,
       100.0 * sums.gpu_ns / nullif(everything.gpu_ns, 0) AS percent, runs, activities,
       sums.gpu_ns, exclusive_gpu_ns, sums.gpu_ns / runs AS mean_gpu_ns, host_ns,
       CASE WHEN count(*) OVER alike > 1
            THEN sums.gpu_ns / runs / nullif(median(sums.gpu_ns / runs) OVER alike, 0) END AS ratio
FROM sums
LEFT JOIN everything ON everything.gpu IS NOT DISTINCT FROM sums.gpu
WINDOW alike AS (PARTITION BY process_id, sums.gpu, kin)
ORDER BY sums.gpu_ns DESC, layer, sums.gpu, process_id
