-- Samples of PCs by instruction and reason, with readable names.
--
-- computed: Rows of pc_sample summed over its collections. A reason is CUPTI's name without what
--   all of them begin with.
-- requires: pc_sample
-- columns:
--   function VARCHAR: Mangled name.
--   name VARCHAR: Function name alone; the mangled name if none is known.
--   demangled VARCHAR: Name with template and call arguments; likewise.
--   cubin_crc BIGINT: Its code.
--   pc_offset BIGINT [bytes]: The instruction's place in the function.
--   reason VARCHAR: What the warp waited for; selected: for nothing, it issued an instruction.
--   samples BIGINT [samples]: How often a warp was found there for that reason.
--   not_issued BIGINT [samples]: Of these, when the scheduler had no other warp to go on with.
WITH sums AS (
    SELECT function, cubin_crc, pc_offset, stall_reason, sum(samples) AS samples,
           sum(not_issued_samples) AS not_issued
    FROM pc_sample
    GROUP BY function, cubin_crc, pc_offset, stall_reason
)
SELECT function,
       coalesce(short, function) AS name,
       coalesce(names.demangled, function) AS demangled,
       cubin_crc, pc_offset,
       regexp_replace(stall_reason, '^.*issue_stalled_', '') AS reason,
       TRY_CAST(samples AS BIGINT) AS samples,
       TRY_CAST(not_issued AS BIGINT) AS not_issued
FROM sums
LEFT JOIN _readable_name AS names ON mangled = function
