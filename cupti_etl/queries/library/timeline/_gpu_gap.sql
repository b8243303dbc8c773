-- Times between two activities of a GPU in which nothing ran on it.
--
-- computed: What lies between neighbours of busy_interval (work = any), but for times in some of
--   which work of the GPU was not recorded (_not_recorded).
-- scope: start_ns to end_ns, gap_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When the GPU became idle.
--   end_ns BIGINT [epoch ns]: When it went on.
--   gap_ns BIGINT [ns]: Length.
WITH gaps AS (
    SELECT gpu, end_ns AS start_ns,
           lead(start_ns) OVER (PARTITION BY gpu ORDER BY start_ns) AS end_ns
    FROM _busy_interval
    WHERE work = 'any'
),
-- Most traces are recorded without an interruption, and need no look at each gap.
parted AS (
    FROM gaps WHERE EXISTS (SELECT 1 FROM _not_recorded)
)
SELECT gpu, start_ns, end_ns, end_ns - start_ns AS gap_ns
FROM gaps
WHERE end_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM _not_recorded)
UNION ALL
SELECT parted.gpu, parted.start_ns, parted.end_ns, parted.end_ns - parted.start_ns
FROM parted
ASOF LEFT JOIN _not_recorded AS off ON off.gpu = parted.gpu AND off.start_ns < parted.end_ns
WHERE parted.end_ns IS NOT NULL AND (off.end_ns IS NULL OR off.end_ns <= parted.start_ns)
