-- Which lines of source the warps are at, and what they wait for there.
--
-- computed: Samples of _line_sample by line. The reasons are the three with most samples, of those
--   with 1 % of them. Samples of functions without line information have one row a function.
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- limits: As those of sass and kernel_stall.
-- front: Which lines of my kernels are hot?
-- first: percent, reasons, samples, place, name
-- chart: bars(place, samples)
-- columns:
--   percent DOUBLE [%]: samples as a share of all samples in kernels of the program.
--   samples BIGINT [samples]: Samples of instructions of the line.
--   not_issued, place of _line_sample
--   reasons VARCHAR: The reasons with most samples, each with its share of the line's.
--   name VARCHAR: The kernel or function, its name alone; the one with most samples.
--   functions BIGINT [functions]: How many have instructions of the line.
--   instructions BIGINT [instructions]: How many of them were sampled.
--   file, line of _line_sample
WITH by_reason AS (
    SELECT place, file, line, reason, sum(samples) AS samples,
           sum(sum(samples)) OVER (PARTITION BY place, file, line) AS line_samples
    FROM _line_sample
    GROUP BY place, file, line, reason
),
reasons AS (
    SELECT place, file, line,
           string_agg(format('{} {:.0f} %', reason, 100.0 * samples / line_samples), ', '
                      ORDER BY samples DESC, reason) AS reasons
    FROM (
        FROM by_reason
        WHERE samples > line_samples / 200
        QUALIFY row_number()
            OVER (PARTITION BY place, file, line ORDER BY samples DESC, reason) <= 3
    )
    GROUP BY place, file, line
),
functions AS (
    SELECT place, file, line, function, any_value(name) AS name, sum(samples) AS samples
    FROM _line_sample
    GROUP BY place, file, line, function
),
named AS (
    SELECT place, file, line, arg_max(name, samples) AS name, count(*) AS functions
    FROM functions
    GROUP BY place, file, line
),
lines AS (
    SELECT place, file, line, sum(samples) AS samples, sum(not_issued) AS not_issued,
           count(DISTINCT (cubin_crc, function, pc_offset)) AS instructions
    FROM _line_sample
    GROUP BY place, file, line
)
SELECT 100.0 * samples / nullif(sum(samples) OVER (), 0) AS percent,
       TRY_CAST(samples AS BIGINT) AS samples,
       TRY_CAST(not_issued AS BIGINT) AS not_issued,
       lines.place, reasons, name, functions, instructions, lines.file, lines.line
FROM lines
JOIN reasons
    ON reasons.place = lines.place
    AND reasons.file IS NOT DISTINCT FROM lines.file
    AND reasons.line IS NOT DISTINCT FROM lines.line
JOIN named
    ON named.place = lines.place
    AND named.file IS NOT DISTINCT FROM lines.file
    AND named.line IS NOT DISTINCT FROM lines.line
ORDER BY samples DESC, lines.file, lines.line, lines.place
