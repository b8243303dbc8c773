-- How much the kernels of each GPU overlapped, and how much of that was within a stream.
--
-- computed: Sums over _running_kernels: kernel_ns is a sum of durations, busy_ns a union. Kernels
--   of one stream overlap while more kernels run than streams have one.
-- requires: kernel
-- limits: Within a stream kernels overlap by programmatic dependent launch; the parallel branches
--   of a CUDA graph look the same where they are recorded under one stream.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   kernel_ns BIGINT [ns]: Durations of its kernels, summed.
--   busy_ns BIGINT [ns]: Time with at least one.
--   ratio DOUBLE: kernel_ns divided by busy_ns: kernels at once, on average while any ran.
--   overlap_ns BIGINT [ns]: Time with two or more.
--   overlap_pct DOUBLE [%]: overlap_ns as a share of busy_ns.
--   same_stream_ns BIGINT [ns]: Time with two or more of one stream.
--   same_stream_pct DOUBLE [%]: same_stream_ns as a share of busy_ns.
--   max_kernels BIGINT [kernels]: Most at once.
--   max_streams BIGINT [streams]: Most streams that ran a kernel at once.
WITH sums AS (
    SELECT gpu, TRY_CAST(sum(kernels * total_ns) AS BIGINT) AS kernel_ns,
           TRY_CAST(sum(total_ns) AS BIGINT) AS busy_ns,
           TRY_CAST(coalesce(sum(total_ns) FILTER (WHERE kernels > 1), 0) AS BIGINT) AS overlap_ns,
           TRY_CAST(coalesce(sum(total_ns) FILTER (WHERE kernels > streams), 0) AS BIGINT)
               AS same_stream_ns,
           max(kernels) AS max_kernels, max(streams) AS max_streams
    FROM _running_kernels
    WHERE kernels > 0
    GROUP BY gpu
)
SELECT gpu, kernel_ns, busy_ns, kernel_ns / busy_ns AS ratio,
       overlap_ns, 100.0 * overlap_ns / busy_ns AS overlap_pct,
       same_stream_ns, 100.0 * same_stream_ns / busy_ns AS same_stream_pct,
       max_kernels, max_streams
FROM sums
ORDER BY gpu;

-- merge
FROM partial
ORDER BY gpu
