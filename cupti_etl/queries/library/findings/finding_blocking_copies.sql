-- How long the host waited for copies or memsets while each GPU was idle.
--
-- computed: saved_ns of memcpy_blocking, but no more than its idle_ns, as the run gains no more, or
--   than the GPU was idle while the host waited or was in calls about memory, as several threads
--   can be in them. The culprit is the call that cost most of it on the GPU.
-- requires: api_call
-- finding: copies or memsets keep the host from going on (estimated)
-- advice: pin the host memory, and use asynchronous calls
-- shown: memcpy_blocking
WITH gaps AS (
    SELECT gpu, sum(waiting_ns + memory_ns) AS idle_ns FROM _gap_cause GROUP BY gpu
),
by_name AS (
    SELECT gpu, api_name, sum(least(saved_ns, idle_ns)) AS saved_ns, sum(calls) AS calls
    FROM _memcpy_blocking
    GROUP BY gpu, api_name
),
blocking AS (
    SELECT gpu, sum(saved_ns) AS saved_ns, sum(calls) AS calls,
           arg_min(api_name, (-saved_ns, api_name)) AS api_name
    FROM by_name
    GROUP BY gpu
)
SELECT blocking.gpu,
       -- A GPU without gaps has nothing to gain.
       TRY_CAST(CASE WHEN blocking.gpu IS NULL THEN saved_ns
                     ELSE least(saved_ns, coalesce(idle_ns, 0)) END AS BIGINT) AS saved_ns,
       concat(CASE WHEN calls > 1 THEN format('{:,} of them, above all by ', calls::BIGINT)
                   ELSE 'one by ' END, api_name) AS culprit
FROM blocking
LEFT JOIN gaps ON gaps.gpu = blocking.gpu
