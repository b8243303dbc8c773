-- Times in which a thread that launches work waited for input, as ranges and stacks show it.
--
-- computed: Ranges of _input_span. Of threads that launch nothing none counts: workers load while
--   others compute. The union for each process, without the time in which the host was in CUDA
--   (_host_activity).
-- requires:
--   _input_span: no range is named as one that waits for input or loads it.
-- materialized: Made once for an opened trace, as it goes through all ranges.
-- limits: As of _input_span.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: Begin of an interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   before_ns BIGINT [ns]: Length of the earlier intervals of the process together.
WITH work AS (
    -- Of their threads alone: there are as many launches as kernels.
    SELECT process_id, correlation_id FROM gpu_activity SEMI JOIN _input_span USING (process_id)
),
launching AS (
    SELECT DISTINCT process_id, thread_id
    FROM api_call
    SEMI JOIN _input_span USING (process_id, thread_id)
    SEMI JOIN work USING (process_id, correlation_id)
),
inputs AS MATERIALIZED (
    SELECT process_id, start_ns, end_ns
    FROM _input_span
    SEMI JOIN launching USING (process_id, thread_id)
),
-- In CUDA, as _host_activity has it, of the processes with input alone.
host AS (
    SELECT process_id, start_ns, end_ns FROM api_call SEMI JOIN inputs USING (process_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT process_id, start_ns, end_ns FROM overhead SEMI JOIN inputs USING (process_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT process_id, start_ns, end_ns FROM _blocking_copy SEMI JOIN inputs USING (process_id)
),
events AS (
    SELECT process_id, unnest([start_ns, end_ns]) AS at_ns, unnest([1, -1]) AS input, 0 AS host
    FROM inputs
    UNION ALL
    SELECT process_id, unnest([start_ns, greatest(start_ns, end_ns)]), 0, unnest([1, -1]) FROM host
),
swept AS (
    SELECT process_id, at_ns, sum(input) OVER line AS inputs, sum(host) OVER line AS hosts,
           lead(at_ns) OVER (PARTITION BY process_id ORDER BY at_ns) AS until_ns
    FROM events
    WINDOW line AS (PARTITION BY process_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING)
)
SELECT process_id, at_ns AS start_ns, until_ns AS end_ns,
       TRY_CAST(coalesce(sum(until_ns - at_ns) OVER (
           PARTITION BY process_id ORDER BY at_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
       ), 0) AS BIGINT) AS before_ns
FROM swept
WHERE inputs > 0 AND hosts = 0 AND until_ns > at_ns
