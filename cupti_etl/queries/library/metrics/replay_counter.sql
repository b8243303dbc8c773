-- Exact counters of each launch or range, put together from the runs of an application replay.
--
-- computed: Launches and ranges of the first run, with each metric of all runs. That of another run
--   is taken from the launch of the same kernel and shape, or the range of the same name, that came
--   there as the n-th, too; and only if it came as often in both runs, and for ranges, if both made
--   the same launches in the same order. Where CUPTI gave no values of some, which are not counted
--   then, it has to have the same number in the process (range_id).
-- requires:
--   launch_metric: nothing was measured (capture with --range-metrics).
--   process: the command was run once (capture with --range-replay application).
-- limits: That kernels have the same names and shapes does not make their data the same.
--   replay_check says where runs differ in the order of launches, too. Threads that launch in one
--   range do so in any order: then runs differ that do the same.
-- first: name, nth, metric, value, unit, run, missing
-- label: name = kernel(demangled, grid, block)
-- example: cupti-etl query replay_counter TRACE
-- columns:
--   process_id BIGINT: The process, in the first run.
--   range_id BIGINT: The launch or range: 1 for the first of the process.
--   name VARCHAR: Function name alone, or name of the range.
--   grid, block of _replayed
--   nth BIGINT: How often the kernel with this shape, or the range, came so far.
--   metric VARCHAR: The metric, as CUPTI names it.
--   value DOUBLE: What it came to; its unit is in the column unit. NULL if there is none.
--   unit VARCHAR: Its unit; NULL of a ratio.
--   run INTEGER: The run that measured it.
--   missing VARCHAR: Why there is no value; NULL if there is one.
--   demangled VARCHAR: Name with template and call arguments, or name of the range.
WITH measured_in AS (
    -- On other chips, other metrics go together.  What a process lacks, the others tell.
    SELECT peer, metric, any_value(unit) AS unit, min(run) AS run
    FROM launch_metric
    JOIN (SELECT DISTINCT process_id, peer, run FROM _replayed) USING (process_id)
    GROUP BY peer, metric
),
metrics AS (
    SELECT peers.peer, metric, coalesce(mine.unit, everywhere.unit) AS unit,
           coalesce(mine.run, everywhere.run) AS run
    FROM (SELECT DISTINCT peer FROM _replayed) AS peers
    CROSS JOIN (SELECT metric, any_value(unit) AS unit, min(run) AS run
                FROM measured_in
                GROUP BY metric) AS everywhere
    LEFT JOIN measured_in AS mine USING (peer, metric)
),
-- Of the n-th in a run that has fewer, so many are known.
counts AS (
    SELECT peer, run, name, grid, block, any_value(times) AS times
    FROM _replayed
    GROUP BY ALL
),
compared AS (
    SELECT one.*, metrics.metric, metrics.unit, metrics.run AS other_run,
           measured.value,
           CASE WHEN measured.process_id IS NULL THEN 'CUPTI gave no value'
                ELSE measured.missing END AS missing,
           CASE WHEN counts.times IS NULL
                THEN format('run {} did not measure it', metrics.run)
                WHEN counts.times <> one.times
                THEN format('run {} measured it {} times, and run 1 {} times', metrics.run,
                            counts.times, one.times)
                WHEN NOT (one.is_whole AND other.is_whole) AND other.range_id <> one.range_id
                THEN format('run 1 or {} lacks others, so this may be another one', metrics.run)
                WHEN other.launch_hash IS DISTINCT FROM one.launch_hash
                THEN format('run {} made other launches in it than run 1', metrics.run)
           END AS difference
    FROM _replayed AS one
    JOIN metrics ON metrics.peer = one.peer
    LEFT JOIN counts
        ON counts.peer = one.peer AND counts.run = metrics.run AND counts.name = one.name
        AND counts.grid IS NOT DISTINCT FROM one.grid
        AND counts.block IS NOT DISTINCT FROM one.block
    LEFT JOIN _replayed AS other
        ON other.peer = one.peer AND other.run = metrics.run AND other.name = one.name
        AND other.grid IS NOT DISTINCT FROM one.grid
        AND other.block IS NOT DISTINCT FROM one.block
        AND other.nth = one.nth
    LEFT JOIN launch_metric AS measured
        ON measured.process_id = other.process_id AND measured.range_id = other.range_id
        AND measured.metric = metrics.metric
    WHERE one.run = 1
)
SELECT process_id, range_id, coalesce(short, name) AS name, grid, block, nth, metric,
       CASE WHEN difference IS NULL THEN value END AS value, unit, other_run AS run,
       coalesce(difference, missing) AS missing, coalesce(demangled, name) AS demangled
FROM compared
LEFT JOIN _readable_name ON mangled = function
ORDER BY process_id, range_id, metric
