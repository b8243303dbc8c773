-- Times in which a thread that launches work waited for input, as ranges and stacks show it.
--
-- computed: Ranges of data loaders, by their names: that of PyTorch's DataLoader
--   (enumerate(DataLoader)#...), frames of torch/utils/data, of DALI, tf.data and WebDataset, and
--   ranges called data loading, next batch, fetch or alike. Of threads that launch nothing none
--   counts: workers load while others compute. The union for each process, without the time in
--   which the host was in CUDA (_host_activity).
-- requires: marker
-- materialized: Made once for an opened trace, as it goes through all ranges.
-- limits: Names decide; input that nobody marked is not seen.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: Begin of an interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   before_ns BIGINT [ns]: Length of the earlier intervals of the process together.
WITH named AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, end_ns
    FROM _range_span
    WHERE start_ns IS NOT NULL AND end_ns > start_ns
        AND regexp_matches(
            name,
            '(?i)data_?loader|data[ _.]?(load|fetch|wait|next)|torch/utils/data/|'
            '(^|[^a-z])(load|fetch|get|next|read)[ _.]?(next[ _.]?)?(batch|data|inputs?|samples?)'
            '([^a-z]|$)|batch[ _.]?(load|fetch|generator)|(^|[^a-z])(nvidia[./])?dali([^a-z]|$)|'
            'webdataset|input[ _.]?pipeline'
        )
        AND NOT regexp_matches(name, '^(aten|c10d|autograd|torch|nccl)::')
),
-- Of their threads alone: there are as many launches as kernels.
work AS (
    SELECT process_id, correlation_id FROM gpu_activity SEMI JOIN named USING (process_id)
),
launching AS (
    SELECT DISTINCT process_id, thread_id
    FROM api_call
    SEMI JOIN named USING (process_id, thread_id)
    SEMI JOIN work USING (process_id, correlation_id)
),
inputs AS MATERIALIZED (
    SELECT process_id, start_ns, end_ns
    FROM named
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
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
),
events AS (
    SELECT process_id, start_ns AS at_ns, 1 AS input, 0 AS host FROM inputs
    UNION ALL
    SELECT process_id, end_ns, -1, 0 FROM inputs
    UNION ALL
    SELECT process_id, start_ns, 0, 1 FROM host
    UNION ALL
    SELECT process_id, greatest(start_ns, end_ns), 0, -1 FROM host
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
