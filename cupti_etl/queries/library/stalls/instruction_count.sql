-- What each instruction of a kernel counted, by metric.
--
-- computed: Rows of sass_metric summed over collections, processes and GPUs, each with its
--   instruction in sass.
-- requires: sass_metric
-- opened: Plain DuckDB cannot disassemble: instruction, file and line are NULL.
-- limits: An instruction that counted 0 has no row. Without nvdisasm (pip install
--   "cupti-etl[sass]") the instruction is NULL; lines are known of code with line information (nvcc
--   -lineinfo).
-- front: How often is each instruction executed?
-- first: value, metric, pc_offset, instruction, place, name
-- chart: bars(instruction, value, by metric)
-- columns:
--   name VARCHAR: The kernel or function, its name alone.
--   pc_offset BIGINT [bytes]: The instruction's place in the function.
--   instruction VARCHAR: The instruction; NULL if it is not known.
--   metric VARCHAR: What was counted, as CUPTI names it.
--   value BIGINT: The count, of all launches.
--   percent DOUBLE [%]: value as a share of the metric's counts in all functions.
--   place VARCHAR: The file's name and the line; NULL if they are not known.
--   function VARCHAR: Mangled name.
--   cubin_crc BIGINT: Its code.
--   file VARCHAR: The source file, as the compiler was given it.
--   line, inlined_at of sass
WITH sums AS (
    SELECT function, cubin_crc, pc_offset, metric, sum(value) AS value
    FROM sass_metric
    GROUP BY function, cubin_crc, pc_offset, metric
)
SELECT coalesce(short, sums.function) AS name,
       sums.pc_offset, instruction, metric,
       TRY_CAST(value AS BIGINT) AS value,
       100.0 * value / nullif(sum(value) OVER (PARTITION BY metric), 0) AS percent,
       parse_filename(file) || ':' || line AS place,
       sums.function, sums.cubin_crc, file, line, inlined_at
FROM sums
LEFT JOIN _readable_name AS names ON mangled = sums.function
LEFT JOIN sass USING (cubin_crc, function, pc_offset)
ORDER BY name, sums.function, sums.cubin_crc, sums.pc_offset, metric
