-- Samples of PCs by instruction and reason, with their lines of source.
--
-- computed: Rows of _pc_stall, each with the line of its instruction in sass: that of the innermost
--   function where code was inlined.
-- needs: _pc_stall, sass
-- requires: pc_sample, cubin, sass
-- opened: Plain DuckDB cannot disassemble.
-- columns:
--   function VARCHAR: Mangled name.
--   name VARCHAR: Function name alone; the mangled name if none is known.
--   cubin_crc BIGINT: Its code.
--   pc_offset BIGINT [bytes]: The instruction's place in the function.
--   instruction VARCHAR: The instruction; NULL if its code was not stored.
--   reason VARCHAR: What the warp waited for; selected: for nothing, it issued an instruction.
--   samples BIGINT [samples]: How often a warp was found there for that reason.
--   not_issued BIGINT [samples]: Of these, when the scheduler had no other warp to go on with.
--   place VARCHAR: The file's name and the line; why it is not known.
--   file VARCHAR: The source file, as the compiler was given it.
--   line INTEGER: The line there.
--   inlined_at VARCHAR: FILE:LINE of the call that it was inlined into, then of the call of that
--     one.
SELECT stalls.function, name, stalls.cubin_crc, stalls.pc_offset, instruction, reason, samples,
       not_issued,
       coalesce(parse_filename(file) || ':' || line, 'no line information in ' || name) AS place,
       file, line, inlined_at
FROM _pc_stall AS stalls
LEFT JOIN sass
    ON sass.cubin_crc = stalls.cubin_crc
    AND sass.function = stalls.function
    AND sass.pc_offset = stalls.pc_offset
WHERE EXISTS (FROM sass)
