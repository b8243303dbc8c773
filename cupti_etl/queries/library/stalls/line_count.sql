-- What the instructions of each line of source counted, by metric.
--
-- computed: Rows of instruction_count summed by line. Those without a line have one row a function
--   and metric.
-- requires: sass_metric
-- opened: Plain DuckDB cannot disassemble: file and line are NULL.
-- limits: As those of instruction_count.
-- front: How often is each line of my kernels executed?
-- first: place, value, percent, metric, instructions
-- chart: bars(place, value, by metric)
-- columns:
--   place VARCHAR: The file's name and the line; why it is not known.
--   metric, value, percent of instruction_count
--   instructions BIGINT [instructions]: How many instructions of the line counted.
--   file, line of instruction_count
WITH placed AS (
    SELECT coalesce(place, 'no line information in ' || name) AS at_place, file, line, metric, value
    FROM instruction_count
),
sums AS (
    SELECT at_place, file, line, metric, sum(value) AS value, count(*) AS instructions
    FROM placed
    GROUP BY at_place, file, line, metric
)
SELECT at_place AS place, metric,
       TRY_CAST(value AS BIGINT) AS value,
       100.0 * value / nullif(sum(value) OVER (PARTITION BY metric), 0) AS percent,
       instructions, file, line
FROM sums
ORDER BY metric, value DESC, file, line, place
