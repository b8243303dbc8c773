-- What small copies cost on each GPU that could be one.
--
-- computed: As saved_ns of memcpy_small, of the runs of each GPU.
-- requires: memcpy
-- finding: small copies could be one (estimated)
-- advice: gather them into one copy
-- shown: memcpy_small
WITH small AS (
    FROM _small_copy()
),
-- As memcpy_small has it.
fixed AS (
    SELECT copy_kind, quantile_cont(duration_ns, 0.1) AS fixed_ns FROM small GROUP BY copy_kind
),
runs AS (
    SELECT process_id, device_id, copy_kind, count(*) AS n, sum(before_ns) AS before_ns
    FROM small
    GROUP BY process_id, device_id, context_id, stream_id, copy_kind, run
    HAVING count(*) >= 2
),
sums AS (
    SELECT gpu.gpu, copy_kind, count(*) AS runs, sum(n) AS in_runs,
           sum(runs.before_ns) AS before_ns
    FROM runs
    LEFT JOIN gpu ON gpu.process_id = runs.process_id AND gpu.device_id = runs.device_id
    GROUP BY gpu.gpu, copy_kind
)
SELECT gpu,
       TRY_CAST((sums.in_runs - sums.runs) * fixed_ns + sums.before_ns AS BIGINT) AS saved_ns,
       format('{:,} copies {} in {:,} {}', sums.in_runs::BIGINT, sums.copy_kind, sums.runs,
              CASE sums.runs WHEN 1 THEN 'run' ELSE 'runs' END) AS culprit
FROM sums
JOIN fixed ON fixed.copy_kind = sums.copy_kind
