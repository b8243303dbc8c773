-- What each NVTX range asked its GPUs to do: kernels, and copies with their bytes.
--
-- computed: Over the activities of all ranges with the same path, with those of ranges inside.
--   Times are of kernels and sums of durations; kernels that overlap each count in full.
-- needs: _range_activity, _alike_path
-- requires:
--   marker: no ranges were recorded.
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
-- limits: As of range_gpu.
-- front: What does each range of my code run on the GPU?
-- first: path, kernels, sum_ns, mean_ns, max_ns, copies, copied_bytes, ranges
-- label: path = range(path)
-- chart: bars(path, sum_ns)
-- example: cupti-etl query range_work TRACE
-- columns:
--   path VARCHAR: Names of the range and of those around it.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   ranges BIGINT [ranges]: Ranges that asked for work.
--   kernels BIGINT [kernels]: Finished kernels.
--   sum_ns BIGINT [ns]: Sum of their durations.
--   max_ns BIGINT [ns]: The longest.
--   mean_ns DOUBLE [ns]: sum_ns divided by kernels.
--   copies BIGINT [copies]: Finished copies.
--   copied_bytes BIGINT [bytes]: Their bytes.
--   sets BIGINT [sets]: Finished memsets.
SELECT path, process_id, gpu, count(DISTINCT work.range_id) AS ranges,
       count(*) FILTER (WHERE kind = 'kernel') AS kernels,
       TRY_CAST(sum(end_ns - start_ns) FILTER (WHERE kind = 'kernel') AS BIGINT) AS sum_ns,
       max(end_ns - start_ns) FILTER (WHERE kind = 'kernel') AS max_ns,
       avg(end_ns - start_ns) FILTER (WHERE kind = 'kernel') AS mean_ns,
       count(*) FILTER (WHERE starts_with(kind, 'memcpy')) AS copies,
       TRY_CAST(sum(bytes) FILTER (WHERE starts_with(kind, 'memcpy')) AS BIGINT) AS copied_bytes,
       count(*) FILTER (WHERE kind = 'memset') AS sets
FROM _range_activity AS work
JOIN _alike_path ON _alike_path.range_id = work.range_id
GROUP BY path, process_id, gpu
ORDER BY sum_ns DESC NULLS LAST, path, process_id, gpu;

-- merge
FROM partial
ORDER BY sum_ns DESC NULLS LAST, path, process_id, gpu
