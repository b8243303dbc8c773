-- Gaps of a GPU in which work that began later had been launched before the work that ended the
-- gap: the GPU had it, and did not begin it.
--
-- computed: Over all activities of a GPU with several streams, from the last to the first, the
--   earliest return of their calls.
-- materialized: Made once for an opened trace, as _gap_spent and _host_path read it.
-- scope: start_ns to end_ns
-- columns:
--   gpu, start_ns, end_ns of _gpu_gap
--   launched_ns BIGINT [epoch ns]: When the first of the calls for that work had returned.
WITH crowded AS (
    -- Of what one stream alone does, nothing later was launched before.
    SELECT gpu
    FROM (SELECT DISTINCT gpu, process_id, context_id, stream_id FROM gpu_interval)
    GROUP BY gpu
    HAVING count(*) > 1
),
returned AS (
    SELECT act.gpu, act.start_ns, greatest(api_call.start_ns, api_call.end_ns) AS returned_ns
    FROM gpu_interval AS act
    SEMI JOIN crowded ON crowded.gpu = act.gpu
    JOIN api_call
        ON api_call.process_id = act.process_id
        AND api_call.correlation_id = act.correlation_id
    WHERE api_call.start_ns IS NOT NULL AND api_call.end_ns IS NOT NULL
),
launched AS (
    -- With all that began at the same time.
    SELECT *, min(returned_ns) OVER (PARTITION BY gpu ORDER BY start_ns DESC) AS launched_ns
    FROM returned
)
SELECT gap.gpu, gap.start_ns, gap.end_ns, min(launched_ns) AS launched_ns
FROM _gpu_gap AS gap
JOIN launched ON launched.gpu = gap.gpu AND launched.start_ns = gap.end_ns
WHERE launched_ns < returned_ns AND launched_ns < gap.end_ns
GROUP BY gap.gpu, gap.start_ns, gap.end_ns
