-- Memory that was allocated and never released, by where it was asked for, and whether it grows.
--
-- computed: Allocations without a release by shared object, kind, calling function and the NVTX
--   range around the call. Growth is the slope of their sum over the steps of the process (step,
--   on its first GPU), with the half width of its 95 % confidence interval under normal errors
--   (Student's t).
-- needs: allocation_site, step
-- requires:
--   memory: no allocations were recorded (capture with the kind memory).
--   allocation: no memory was allocated.
-- limits: What lives to the end on purpose, such as weights, is here too: only growth is a leak.
--   growth is NULL with fewer than 4 steps.
-- columns:
--   process_id BIGINT: The process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   source VARCHAR: Shared object that asked for it; NULL if not known.
--   api_name VARCHAR: Function that allocated it; NULL if the call was not recorded.
--   range VARCHAR: Path of the NVTX range around the call; NULL outside ranges.
--   allocations BIGINT [allocations]: How many were not released.
--   bytes BIGINT [bytes]: Their sizes together.
--   first_ns BIGINT [ns]: When the first was allocated.
--   last_ns BIGINT [ns]: When the last was.
--   growth_bytes_per_step DOUBLE [bytes]: By how much they grow in a step.
--   growth_error DOUBLE [bytes]: Half width of its confidence interval.
--   verdict VARCHAR: grows, does not grow, or cannot tell.
WITH sites AS (
    SELECT * FROM allocation_site WHERE end_ns IS NULL
),
sums AS (
    SELECT process_id, memory_kind, source, api_name, range, count(*) AS allocations,
           sum(bytes)::BIGINT AS bytes, min(start_ns) AS first_ns, max(start_ns) AS last_ns
    FROM sites
    GROUP BY process_id, memory_kind, source, api_name, range
),
steps AS (
    SELECT process_id, step, end_ns
    FROM step
    QUALIFY gpu = min(gpu) OVER (PARTITION BY process_id)
),
held AS (
    SELECT sites.process_id, sites.memory_kind, sites.source, sites.api_name, sites.range,
           steps.step, sum(sites.bytes) FILTER (WHERE sites.start_ns <= steps.end_ns) AS held_bytes
    FROM sites
    JOIN steps ON steps.process_id = sites.process_id
    GROUP BY ALL
),
fits AS (
    SELECT process_id, memory_kind, source, api_name, range, count(*) AS n,
           regr_slope(coalesce(held_bytes, 0), step) AS slope,
           sqrt(greatest(regr_syy(coalesce(held_bytes, 0), step)
                         - regr_slope(coalesce(held_bytes, 0), step)
                           * regr_sxy(coalesce(held_bytes, 0), step), 0)
                / nullif(count(*) - 2, 0)
                / nullif(regr_sxx(coalesce(held_bytes, 0), step), 0)) AS stderr,
           count(*) - 2 AS freedom
    FROM held
    GROUP BY process_id, memory_kind, source, api_name, range
),
intervals AS (
    -- Student's t at 97.5 %, as its series in 1 / freedom says it: within 4 % from 2 on.
    SELECT *, stderr * (1.96 + 2.3724 / freedom + 2.8224 / pow(freedom, 2)
                        + 2.5556 / pow(freedom, 3)) AS error
    FROM fits
)
SELECT sums.process_id, sums.memory_kind, sums.source, sums.api_name, sums.range, allocations,
       bytes, first_ns, last_ns,
       CASE WHEN n >= 4 THEN slope END AS growth_bytes_per_step,
       CASE WHEN n >= 4 THEN error END AS growth_error,
       CASE WHEN n IS NULL OR n < 4 THEN 'cannot tell'
            WHEN slope > 0 AND slope > error THEN 'grows' ELSE 'does not grow' END AS verdict
FROM sums
LEFT JOIN intervals AS fits
    ON fits.process_id = sums.process_id
    AND fits.memory_kind IS NOT DISTINCT FROM sums.memory_kind
    AND fits.source IS NOT DISTINCT FROM sums.source
    AND fits.api_name IS NOT DISTINCT FROM sums.api_name
    AND fits.range IS NOT DISTINCT FROM sums.range
ORDER BY bytes DESC, sums.process_id, sums.memory_kind, sums.source, sums.api_name, sums.range
