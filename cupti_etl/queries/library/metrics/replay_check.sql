-- Whether the runs of an application replay launched the same in the same order.
--
-- computed: Launches, or ranges, of each run beside those of the first, one by one in the order in
--   which they were measured: names and shapes of kernels; names of ranges, and the launches in
--   them.
-- requires:
--   launch_metric: nothing was measured (capture with --range-metrics).
--   process: the command was run once (capture with --range-replay application).
-- limits: The order in which threads launch is part of it. Where several do, runs may differ that
--   launch the same.
-- first: run, is_same, first_launches, launches, first_difference, expected, found
-- example: cupti-etl query replay_check TRACE
-- columns:
--   process_id BIGINT: The process, in the first run; NULL if that did not have it.
--   run INTEGER: The run that is compared with the first.
--   is_same BOOLEAN: Whether it launched the same.
--   first_launches BIGINT [launches]: Launches or ranges that the first run measured.
--   launches BIGINT [launches]: Those that this run measured.
--   first_difference BIGINT: Number of the first that differs (range_id in launch_metric).
--   expected VARCHAR: What it was in the first run; NULL if that had ended.
--   found VARCHAR: What it was in this run; NULL if this had ended.
WITH known AS (
    SELECT *, concat_ws(' ', name, grid, block) AS what FROM _replayed
),
runs AS (
    SELECT DISTINCT run FROM known WHERE run > 1
),
expected AS (
    SELECT known.* EXCLUDE run, runs.run FROM known CROSS JOIN runs WHERE known.run = 1
),
pairs AS (
    SELECT coalesce(one.peer, two.peer) AS peer, coalesce(one.run, two.run) AS run,
           coalesce(one.range_id, two.range_id) AS range_id, one.process_id,
           one.range_id AS first_id, two.range_id AS id, one.what AS expected, two.what AS found,
           one.what IS NOT DISTINCT FROM two.what
           AND one.launch_hash IS NOT DISTINCT FROM two.launch_hash AS is_same
    FROM expected AS one
    FULL JOIN (FROM known WHERE run > 1) AS two USING (peer, run, range_id)
)
SELECT any_value(process_id) AS process_id, run, bool_and(is_same) AS is_same,
       count(first_id) AS first_launches, count(id) AS launches,
       min(range_id) FILTER (NOT is_same) AS first_difference,
       nullif(arg_min(coalesce(expected, ''), range_id) FILTER (NOT is_same), '') AS expected,
       nullif(arg_min(coalesce(found, ''), range_id) FILTER (NOT is_same), '') AS found
FROM pairs
GROUP BY peer, run
ORDER BY process_id, run
