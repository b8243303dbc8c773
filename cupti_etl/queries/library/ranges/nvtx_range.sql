-- NVTX ranges, of push and pop as well as of start and end, and how they lie in each other.
--
-- computed: Each start in marker with the first end after it that has its marker_id, in the same
--   process, and with its row in marker_data. The parent is the innermost range of the same
--   thread that was open at the start and did not end before it, whatever its domain and whatever
--   ranges in between cross.
-- limits: Marks, which have no duration, are not here; nor are ranges that began before the
--   process initialised CUDA, or before the capture did.
-- scope: host start_ns to end_ns
-- columns:
--   process_id, start_ns, end_ns, name, domain, thread_id, end_thread_id of _range_span
--   category INTEGER: NVTX category; NULL without attributes.
--   payload_int BIGINT: Payload, if it is an integer; unsigned 64-bit ones are bit-cast.
--   payload_double DOUBLE: Payload, if it is a double.
--   color INTEGER: Colour, 0xAARRGGBB; NULL if none was given.
--   marker_id, range_id of _range_span
--   parent_range_id, depth, path of _range_path
WITH attributes AS (
    -- One row a marker, so that no range is ever doubled.
    SELECT process_id, marker_id, first(marker_data) AS data
    FROM marker_data
    GROUP BY process_id, marker_id
)
SELECT ranges.process_id, ranges.start_ns, ranges.end_ns, ranges.name, ranges.domain,
       ranges.thread_id, ranges.end_thread_id, data.category,
       CASE WHEN data.payload_kind IN ('int64', 'uint64') THEN data.payload END AS payload_int,
       CASE WHEN data.payload_kind = 'double' THEN data.payload_double END AS payload_double,
       CASE WHEN data.has_color THEN data.color END AS color,
       ranges.marker_id, ranges.range_id, paths.parent_range_id,
       coalesce(paths.depth, 0) AS depth, coalesce(paths.path, ranges.name) AS path
FROM _range_span AS ranges
LEFT JOIN _range_path AS paths ON paths.range_id = ranges.range_id
LEFT JOIN attributes USING (process_id, marker_id)
