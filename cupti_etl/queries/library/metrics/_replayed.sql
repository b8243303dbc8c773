-- What the runs of an application replay measured: launches and ranges, in their order.
--
-- computed: Launches and ranges of launch_metric of processes with a replay_run. Processes of two
--   runs are the same one if they have the same host, rank and first two words of the command line,
--   and are the n-th of these in their run.
-- scope: whole
-- columns:
--   process_id BIGINT: The traced process.
--   peer BIGINT: The same number for the same process of each run.
--   run INTEGER: Which run of the command, from 1.
--   range_id BIGINT: The launch or range: 1 for the first of the process.
--   function VARCHAR: Mangled name of the kernel; NULL of a range.
--   name VARCHAR: Name of the range, or mangled name of the kernel.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z; NULL of a range.
--   block VARCHAR [threads]: Threads in a block, x, y and z; NULL of a range.
--   launch_hash BIGINT: Of the launches in a range.
--   nth BIGINT: How often it came so far in the process, with this name and shape.
--   times BIGINT: How often it came in all.
--   is_whole BOOLEAN: Whether each of the process has values, up to the last that has some.
WITH units AS (
    SELECT process_id, range_id, any_value(function) AS function,
           coalesce(any_value(range_name), any_value(function)) AS name,
           any_value(correlation_id) AS correlation_id, any_value(launch_hash) AS launch_hash
    FROM launch_metric
    WHERE process_id IN (SELECT process_id FROM process WHERE replay_run IS NOT NULL)
    GROUP BY process_id, range_id
),
numbered AS (
    SELECT process_id, run, host, rank, program,
           row_number() OVER (PARTITION BY run, host, rank, program
                              ORDER BY start_ns, process_id) AS number
    FROM (SELECT *, replay_run AS run,
                 array_to_string(string_split(argv, ' ')[1:2], ' ') AS program
          FROM process)
    WHERE process_id IN (SELECT process_id FROM units)
),
peers AS (
    SELECT process_id, run, dense_rank() OVER (ORDER BY host, rank, program, number) AS peer
    FROM numbered
)
SELECT process_id, peer, run, range_id, function, name, grid, block, launch_hash,
       row_number() OVER (PARTITION BY process_id, name, grid, block ORDER BY range_id) AS nth,
       count(*) OVER (PARTITION BY process_id, name, grid, block) AS times,
       count(*) OVER (PARTITION BY process_id) = max(range_id) OVER (PARTITION BY process_id)
       AS is_whole
FROM units
JOIN peers USING (process_id)
LEFT JOIN _launch_shape USING (process_id, correlation_id)
