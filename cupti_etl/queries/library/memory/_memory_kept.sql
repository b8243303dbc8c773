-- Processes that did not release all memory that they allocated.
--
-- computed: Those of allocation without an end.
-- requires: memory
-- rare: Many programs release all, and places are looked for of all allocations.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT DISTINCT process_id FROM allocation WHERE end_ns IS NULL
