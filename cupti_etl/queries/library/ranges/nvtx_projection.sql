-- GPU time of NVTX ranges, by their path: with and without the ranges inside, and idle time.
--
-- computed: range_gpu summed over the ranges of a process that have the same path, without the
--   numbers that PyTorch writes behind each operator's name (seq, op_id, input_op_ids). idle_ns is,
--   within each range's first start to last end on the GPU, the time in which nothing at all ran
--   there (span less the union of all work).
-- needs: nvtx_range, range_gpu, busy_interval
-- requires:
--   marker: no NVTX ranges were recorded.
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
--   range_gpu: no recorded call lies in an NVTX range.
-- limits: Work belongs to the range in which its call began, on the thread that called, wherever it
--   ran: PyTorch's backward pass is launched by another thread than marks it.
-- columns:
--   path VARCHAR: Names of the range and of those around it.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   ranges BIGINT [ranges]: Ranges that asked for work.
--   activities BIGINT [activities]: Finished activities that they asked for.
--   gpu_ns BIGINT [ns]: Sum of their durations, with those of inner ranges.
--   exclusive_gpu_ns BIGINT [ns]: The same without those of inner ranges.
--   span_ns BIGINT [ns]: First start to last end on the GPU, summed over the ranges.
--   idle_ns BIGINT [ns]: Of this, time with nothing on the GPU.
--   host_ns BIGINT [ns]: Duration of the ranges on the host, summed; without unfinished ones.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by ranges.
WITH edges AS (
    SELECT range_id, gpu, start_ns AS at_ns, -1 AS sign FROM range_gpu
    UNION ALL
    SELECT range_id, gpu, end_ns, 1 FROM range_gpu
),
busy AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM busy_interval WHERE work = 'any'
),
named AS (
    SELECT *, CASE WHEN contains(path, 'op_id') OR contains(path, ', seq = ')
                   THEN regexp_replace(path, ', (seq = \d+|op_id = \d+|input_op_ids = \[[^\]]*\])',
                                       '', 'g') ELSE path END AS plain_path
    FROM nvtx_range
),
lengths AS (
    SELECT edges.range_id, edges.gpu,
           sum(sign * (busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns))::BIGINT
               AS busy_ns
    FROM edges
    ASOF JOIN busy ON busy.gpu = edges.gpu AND busy.start_ns <= edges.at_ns
    GROUP BY edges.range_id, edges.gpu
)
SELECT plain_path AS path, ranges.process_id, work.gpu, count(*) AS ranges,
       sum(work.activities)::BIGINT AS activities, sum(work.gpu_ns)::BIGINT AS gpu_ns,
       sum(work.exclusive_gpu_ns)::BIGINT AS exclusive_gpu_ns,
       sum(work.end_ns - work.start_ns)::BIGINT AS span_ns,
       sum(work.end_ns - work.start_ns - lengths.busy_ns)::BIGINT AS idle_ns,
       coalesce(sum(ranges.end_ns - ranges.start_ns), 0)::BIGINT AS host_ns,
       sum(work.gpu_ns) / count(*) AS mean_gpu_ns
FROM range_gpu AS work
JOIN named AS ranges ON ranges.range_id = work.range_id
JOIN lengths ON lengths.range_id = work.range_id AND lengths.gpu = work.gpu
GROUP BY plain_path, ranges.process_id, work.gpu
ORDER BY sum(work.gpu_ns) DESC, plain_path, ranges.process_id, work.gpu
