-- Outermost ranges of forward passes, of whomever: steps do not lie in them.
--
-- computed: Ranges with forward as a word of their names, outside of others such.
-- requires: marker
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   range_id BIGINT: The range, as in nvtx_range.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it did not.
SELECT process_id, thread_id, range_id, start_ns, end_ns
FROM _range_span
WHERE regexp_matches(name, '(?i)(^|[^a-z])forward([^a-z]|$)')
QUALIFY coalesce(start_ns >= max(end_ns) OVER (
    PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC, range_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
), true)
