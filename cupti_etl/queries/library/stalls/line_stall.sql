-- What the warps wait for at each line of source.
--
-- computed: Samples of _line_sample by line and reason. A share is of the line's own samples, so
--   that those of a line add to 100. The lines with most samples come first. Samples of functions
--   without line information have rows a function.
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- limits: As those of sass and kernel_stall.
-- front: What do the warps wait for, line by line?
-- first: place, line_pct, reason, percent, samples, not_issued
-- chart: bars(place, samples, by reason)
-- columns:
--   place VARCHAR: The file's name and the line; why it is not known.
--   line_pct DOUBLE [%]: line_samples as a share of all samples in kernels of the program.
--   reason VARCHAR: What the warps waited for; selected: for nothing, they issued an instruction.
--   percent DOUBLE [%]: Samples with that reason as a share of the line's samples.
--   samples BIGINT [samples]: Samples with that reason.
--   not_issued BIGINT [samples]: Of these, when the scheduler had no other warp to go on with.
--   line_samples BIGINT [samples]: All samples of the line.
--   file, line of _line_sample
WITH sums AS (
    SELECT place, file, line, reason, sum(samples) AS samples, sum(not_issued) AS not_issued
    FROM _line_sample
    GROUP BY place, file, line, reason
),
shares AS (
    SELECT *, sum(samples) OVER (PARTITION BY place, file, line) AS line_samples,
           sum(samples) OVER () AS all_samples
    FROM sums
)
SELECT place,
       100.0 * line_samples / nullif(all_samples, 0) AS line_pct,
       reason,
       100.0 * samples / nullif(line_samples, 0) AS percent,
       TRY_CAST(samples AS BIGINT) AS samples,
       TRY_CAST(not_issued AS BIGINT) AS not_issued,
       TRY_CAST(line_samples AS BIGINT) AS line_samples,
       file, line
FROM shares
ORDER BY line_samples DESC, file, line, place, samples DESC, reason
