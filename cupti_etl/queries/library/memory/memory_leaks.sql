-- Memory that was allocated and never released, by where it was asked for, and whether it grows.
--
-- computed: Allocations without a release by shared object, kind, calling function and the NVTX
--   range around the call, as if all steps had one name. Growth is the mean of what was added to
--   them while the host asked for each step of the process (step, on its first GPU) but the first,
--   with the half width of its 95 % confidence interval under normal errors (Student's t): what was
--   allocated once does not grow.
-- requires: memory
--   allocation: no memory was allocated at addresses that are known.
--   _memory_kept: all memory was released.
-- limits: What lives to the end on purpose, such as weights, is here too: only growth is a leak.
--   growth is NULL with fewer than 4 steps, or where they are guessed with a confidence below 0.3,
--   which are not what reports are about either.
-- shared: _step_name
-- front: Is memory allocated and never released?
-- first: bytes, allocations, verdict, memory_kind, range, api_name, source
-- label: range = range(range)
-- scope: whole
-- columns:
--   process_id, memory_kind, source, api_name, range of allocation_site
--   allocations BIGINT [allocations]: How many were not released.
--   bytes BIGINT [bytes]: Their sizes together.
--   first_ns BIGINT [epoch ns]: When the first was allocated.
--   last_ns BIGINT [epoch ns]: When the last was.
--   growth_bytes_per_step DOUBLE [bytes]: By how much they grow in a step.
--   growth_error DOUBLE [bytes]: Half width of its confidence interval.
--   verdict VARCHAR: grows, does not grow, or cannot tell.
WITH steps AS (
    -- Of the host, which allocates: the GPU may be many steps behind it.
    SELECT process_id, coalesce(host_end_ns, step.end_ns) AS end_ns,
           row_number() OVER (
               PARTITION BY process_id ORDER BY coalesce(host_end_ns, step.end_ns)
           ) AS place
    FROM _sure_step AS step
    QUALIFY gpu = min(gpu) OVER (PARTITION BY process_id)
),
-- What each step but the first added; the first also has what was there before.
sums AS (
    SELECT process_id, memory_kind, source, api_name, range,
           sum(allocations)::BIGINT AS allocations, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
           min(first_ns) AS first_ns, max(last_ns) AS last_ns,
           sum(bytes::DOUBLE) FILTER (WHERE place > 1) AS total,
           sum(bytes::DOUBLE * bytes) FILTER (WHERE place > 1) AS squares
    FROM (
        SELECT sites.process_id, memory_kind, source, api_name, range, place,
               count(*) AS allocations, sum(bytes) AS bytes, min(start_ns) AS first_ns,
               max(start_ns) AS last_ns
        FROM allocation_site AS sites
        ASOF LEFT JOIN steps
            ON steps.process_id = sites.process_id AND sites.start_ns <= steps.end_ns
        WHERE sites.end_ns IS NULL
        GROUP BY ALL
    )
    GROUP BY process_id, memory_kind, source, api_name, range
),
counts AS (
    SELECT process_id, count(*) - 1 AS n FROM steps GROUP BY process_id HAVING count(*) >= 4
)
SELECT *, CASE WHEN growth_bytes_per_step IS NULL THEN 'cannot tell'
               WHEN growth_bytes_per_step > growth_error THEN 'grows'
               ELSE 'does not grow' END AS verdict
FROM (
    SELECT sums.* EXCLUDE (total, squares), coalesce(total, 0) / n AS growth_bytes_per_step,
           -- Student's t at 97.5 %, as its series in 1 / freedom says it: within 4 % from 2 on.
           sqrt(greatest(coalesce(squares - total * total / n, 0), 0) / (n - 1) / n)
               * (1.96 + 2.3724 / (n - 1) + 2.8224 / pow(n - 1, 2) + 2.5556 / pow(n - 1, 3))
               AS growth_error
    FROM sums
    LEFT JOIN counts ON counts.process_id = sums.process_id
)
ORDER BY bytes DESC, process_id, memory_kind, source, api_name, range;

-- merge
FROM partial
ORDER BY bytes DESC, process_id, memory_kind, source, api_name, range
