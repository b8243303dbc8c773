-- How many threads of a warp take part in the instructions of each line.
--
-- computed: Of instruction_count, smsp__sass_thread_inst_executed over smsp__sass_inst_executed, by
--   line. lost is the warps' instructions that would not be needed if all 32 threads took part.
-- requires: sass_metric
-- opened: Plain DuckDB cannot disassemble: file and line are NULL.
-- limits: As those of instruction_count. Both metrics have to be counted: cupti-etl capture
--   --sass-metrics smsp__sass_inst_executed,smsp__sass_thread_inst_executed. Threads that an
--   instruction's own predicate switches off count as taking part.
-- front: Where do the threads of warps part?
-- first: lost_pct, threads, place, executed, instructions, name
-- chart: bars(place, lost)
-- columns:
--   lost_pct DOUBLE [%]: lost as a share of all instructions that warps executed.
--   threads DOUBLE [threads]: Threads that take part, on average; 32 is all of a warp.
--   place VARCHAR: The file's name and the line; why it is not known.
--   executed BIGINT [instructions]: How many instructions warps executed.
--   lost BIGINT [instructions]: Those that would not be needed.
--   instructions BIGINT [instructions]: How many instructions of the code were executed.
--   name VARCHAR: The kernel or function, its name alone; the one with most of lost.
--   file, line of instruction_count
WITH counts AS (
    SELECT coalesce(place, 'no line information in ' || name) AS place, file, line, name,
           function, cubin_crc, pc_offset,
           sum(value) FILTER (metric = 'smsp__sass_inst_executed') AS warps,
           sum(value) FILTER (metric = 'smsp__sass_thread_inst_executed') AS threads
    FROM instruction_count
    GROUP BY ALL
    HAVING warps > 0 AND threads > 0
),
lines AS (
    SELECT place, file, line, sum(warps) AS executed, sum(threads) AS all_threads,
           sum(warps - threads / 32.0) AS lost, count(*) AS instructions,
           arg_max(name, (warps - threads / 32.0, name)) AS name
    FROM counts
    GROUP BY place, file, line
)
SELECT 100.0 * lost / nullif(sum(executed) OVER (), 0) AS lost_pct,
       all_threads / executed::DOUBLE AS threads,
       place,
       TRY_CAST(executed AS BIGINT) AS executed,
       TRY_CAST(round(lost) AS BIGINT) AS lost,
       instructions, name, file, line
FROM lines
ORDER BY lost DESC, file, line, place
