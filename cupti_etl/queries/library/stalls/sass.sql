-- Instructions of the functions that were sampled or counted, with their lines of source.
--
-- computed: By nvdisasm from the bytes in cubin, once for a trace.
-- requires:
--   cubin: the code of the functions was not stored (capture with
--     --pc-sampling or --sass-metrics, and without --no-cubins).
-- materialized: Made once for an opened trace, as disassembling takes seconds.
-- native: Plain DuckDB cannot disassemble, and gives no rows.
-- opened: Plain DuckDB cannot disassemble.
-- limits: Without nvdisasm (pip install "cupti-etl[sass]", or that of a CUDA toolkit) there are no
--   rows. Lines are known of code that was compiled with line information: nvcc -lineinfo; Triton
--   and torch.compile have it by default, NVIDIA's libraries do not.
-- scope: whole
-- columns:
--   cubin_crc BIGINT: The code.
--   function VARCHAR: Mangled name.
--   pc_offset BIGINT [bytes]: Where in the function the instruction is.
--   instruction VARCHAR: The instruction.
--   file VARCHAR: The source file, as the compiler was given it; NULL without line information.
--   line INTEGER: The line there.
--   inlined_at VARCHAR: FILE:LINE of the call that it was inlined into, then of the call of that
--     one.
SELECT cubin_crc, code.function, code.pc_offset, NULL::VARCHAR AS instruction,
       NULL::VARCHAR AS file, NULL::INTEGER AS line, NULL::VARCHAR AS inlined_at
FROM (
    SELECT cubin_crc, function, pc_offset FROM pc_sample
    UNION ALL
    SELECT cubin_crc, function, pc_offset FROM sass_metric
) AS code
JOIN cubin USING (cubin_crc)
WHERE false
