-- Samples of PCs by instruction and reason, with their lines of source.
--
-- computed: Rows of _pc_stall, each with the line of its instruction in sass: that of the innermost
--   function where code was inlined.
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- columns:
--   function, name, cubin_crc, pc_offset of _pc_stall
--   instruction VARCHAR: The instruction; NULL if its code was not stored.
--   reason, samples, not_issued of _pc_stall
--   place VARCHAR: The file's name and the line; why it is not known.
--   file VARCHAR: The source file, as the compiler was given it.
--   line, inlined_at of sass
SELECT stalls.function, name, stalls.cubin_crc, stalls.pc_offset, instruction, reason, samples,
       not_issued,
       coalesce(parse_filename(file) || ':' || line, 'no line information in ' || name) AS place,
       file, line, inlined_at
FROM _pc_stall AS stalls
LEFT JOIN sass USING (cubin_crc, function, pc_offset)
WHERE EXISTS (FROM sass)
