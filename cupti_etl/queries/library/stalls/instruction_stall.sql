-- At which instructions the warps are, and what they wait for there.
--
-- computed: Samples of _line_sample by instruction. The reasons are the three with most samples, of
--   those with 1 % of them.
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- limits: As those of sass and kernel_stall. A warp that waits for a result is found at the
--   instruction that needs it, not at the one that makes it.
-- front: Which instructions are hot?
-- first: percent, reasons, samples, instruction, place, name
-- chart: bars(instruction, samples)
-- columns:
--   percent DOUBLE [%]: samples as a share of all samples in kernels of the program.
--   samples BIGINT [samples]: Samples of the instruction.
--   not_issued, instruction, place of _line_sample
--   reasons VARCHAR: The reasons with most samples, each with its share of the instruction's.
--   name VARCHAR: The kernel or function, its name alone.
--   function, cubin_crc, pc_offset, file, line, inlined_at of _line_sample
WITH reasons AS (
    SELECT *, sum(samples) OVER (PARTITION BY cubin_crc, function, pc_offset) AS all_reasons,
           row_number() OVER (
               PARTITION BY cubin_crc, function, pc_offset ORDER BY samples DESC, reason
           ) AS place_of_reason
    FROM _line_sample
),
instructions AS (
    SELECT cubin_crc, function, pc_offset,
           sum(samples) AS samples, sum(not_issued) AS not_issued,
           string_agg(format('{} {:.0f} %', reason, 100.0 * samples / all_reasons), ', '
                      ORDER BY place_of_reason)
               FILTER (place_of_reason <= 3 AND samples > all_reasons / 200) AS reasons,
           any_value(instruction) AS instruction, any_value(place) AS place,
           any_value(name) AS name, any_value(file) AS file, any_value(line) AS line,
           any_value(inlined_at) AS inlined_at
    FROM reasons
    GROUP BY cubin_crc, function, pc_offset
)
SELECT 100.0 * samples / nullif(sum(samples) OVER (), 0) AS percent,
       TRY_CAST(samples AS BIGINT) AS samples,
       TRY_CAST(not_issued AS BIGINT) AS not_issued,
       instruction, place, reasons, name, function, cubin_crc, pc_offset, file, line, inlined_at
FROM instructions
ORDER BY samples DESC, function, cubin_crc, pc_offset
