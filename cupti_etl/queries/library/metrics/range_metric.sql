-- Hardware metrics of each NVTX range: of its kernels, put together.
--
-- computed: Of each kernel what the samples say that overlap it (_activity_sampled), over the
--   kernels of all ranges with the same path, with those of ranges inside. Counts are summed, and
--   mean is that of a kernel; of percentages and clocks there is no sum, and mean is weighted by
--   the time under samples.
-- requires: pm_sample, marker
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
--   device
-- limits: A sample is of the whole GPU: what ran beside a kernel counts as its own. Kernels that
--   are shorter than half a sample have a share of what their neighbours did; see kernel_metrics.
-- front: What do the hardware counters say of each range of my code?
-- first: path, metric, mean, max, sum, unit, kernels, measured
-- label: path = range(path)
-- columns:
--   path VARCHAR: Names of the range and of those around it, with * for the numbers of steps, if
--     there are several.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of sum, max and mean.
--   ranges BIGINT [ranges]: Ranges with kernels.
--   kernels BIGINT [kernels]: Finished kernels.
--   measured BIGINT [kernels]: Of these, those that samples cover for half of their time or more.
--   sum DOUBLE: Sum over the kernels; NULL unless the metric is a count.
--   max DOUBLE: The largest value of a kernel.
--   mean DOUBLE: The mean; NULL if none is measured.
WITH own AS (
    SELECT innermost.range_id, kernels.*
    FROM (
        FROM launch_to_gpu
        WHERE kind = 'kernel' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    ) AS kernels
    ASOF JOIN _range_served AS innermost
        ON innermost.process_id = kernels.process_id
        AND innermost.thread_id = kernels.thread_id
        AND innermost.at_ns <= kernels.api_start_ns
    WHERE innermost.range_id IS NOT NULL
),
-- A kernel is in the range that asked for it, by itself or by a range inside it.
work AS (
    SELECT around.around_id AS range_id,
           coalesce(gpu.gpu, -1 - TRY_CAST((hash(own.process_id, own.device_id) >> 33) AS BIGINT))
               AS gpu,
           own.process_id, own.correlation_id, own.start_ns,
           greatest(own.start_ns, own.end_ns) AS end_ns
    FROM own
    JOIN _range_around AS around ON around.range_id = own.range_id
    LEFT JOIN gpu ON gpu.process_id = own.process_id AND gpu.device_id = own.device_id
)
SELECT CASE WHEN min(alike.alike_range_id) = max(alike.alike_range_id) THEN any_value(path)
            ELSE kind END AS path,
       work.process_id, work.gpu, _pm_column.metric, any_value(_pm_column.unit) AS unit,
       count(DISTINCT work.range_id) AS ranges, count(*) AS kernels,
       count(sampled[place]) AS measured,
       CASE WHEN any_value(aggregation) = 'sum' THEN sum(sampled[place]) END AS sum,
       max(sampled[place]) AS max,
       CASE WHEN any_value(aggregation) = 'sum' THEN avg(sampled[place])
            ELSE sum(sampled[place] * covered_ns)
                 / sum(covered_ns) FILTER (WHERE sampled[place] IS NOT NULL) END AS mean
FROM work
JOIN _range_parent AS ranges ON ranges.range_id = work.range_id
JOIN _alike_path AS alike ON alike.alike_range_id = ranges.alike_range_id
JOIN _activity_sampled AS runs USING (process_id, correlation_id, start_ns, end_ns)
CROSS JOIN _pm_column
GROUP BY kind, work.process_id, work.gpu, _pm_column.metric
ORDER BY path, work.gpu, work.process_id, _pm_column.metric
