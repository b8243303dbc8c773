-- NVTX ranges with their times, and which are alike.
--
-- computed: _range_span with _range_parent.
-- materialized: Made once for an opened trace, with _range_parent.
-- limits: As of _range_parent.
-- scope: host start_ns to end_ns
-- columns:
--   process_id BIGINT: The process.
--   range_id BIGINT: The range, as in nvtx_range.
--   alike_range_id BIGINT: The first of all ranges that are alike, as in _range_parent.
--   start_ns, end_ns of _range_span
SELECT process_id, _range_span.range_id, alike_range_id, start_ns, end_ns
FROM _range_span
JOIN _range_parent ON _range_parent.range_id = _range_span.range_id
