-- Which NVTX range is the innermost of a thread, from some time on.
--
-- computed: At the begin of a range it is that range, at its end the range around the end. Ranges
--   that last no time are passed over.
-- materialized: Made once for an opened trace, in one pass with a stack.
-- scope: whole
-- columns:
--   process_id, thread_id of _range_nesting
--   at_ns BIGINT [epoch ns]: From when on.
--   range_id BIGINT: The range, as in nvtx_range; NULL outside of all.
SELECT process_id, thread_id, at_ns,
       arg_max({'range_id': coalesce(range_id, around_id)},
               {'begins': range_id IS NOT NULL,
                'shorter': -coalesce(end_ns, 9223372036854775807),
                'later': range_id}).range_id AS range_id
FROM _range_nesting
WHERE range_id IS NULL OR end_ns IS NULL OR end_ns > at_ns
GROUP BY process_id, thread_id, at_ns
