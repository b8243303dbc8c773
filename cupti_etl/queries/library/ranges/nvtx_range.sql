-- NVTX ranges, of push and pop as well as of start and end, and how they lie in each other.
--
-- computed: Each start in marker with the first end after it that has its marker_id, in the same
--   process, and with its row in marker_data. The parent is the innermost range of the same
--   thread that was open at the start and did not end before it, whatever its domain.
-- needs: marker, marker_data
-- limits: Marks, which have no duration, are not here; nor is the end of a range that began
--   before the capture did.
-- columns:
--   process_id BIGINT: The traced process that made the record.
--   start_ns BIGINT [ns]: When the range began.
--   end_ns BIGINT [ns]: When it ended; NULL if it did not while tracing.
--   name VARCHAR: Text of the range.
--   domain VARCHAR: NVTX domain; NULL for the default domain.
--   thread_id INTEGER: The thread that began it.
--   end_thread_id INTEGER: The thread that ended it.
--   category INTEGER: NVTX category; NULL without attributes.
--   payload_int BIGINT: Payload, if it is an integer; unsigned 64-bit ones are bit-cast.
--   payload_double DOUBLE: Payload, if it is a double.
--   color INTEGER: Colour, 0xAARRGGBB; NULL if none was given.
--   marker_id INTEGER: CUPTI's number of the range in its process.
--   range_id BIGINT: Number of the range in this trace.
--   parent_range_id BIGINT: The range around it; NULL if there is none.
--   depth INTEGER [ranges]: Ranges around it.
--   path VARCHAR: Their names from the outermost on, and its own, with " / " between.
WITH RECURSIVE starts AS (
    SELECT * FROM marker WHERE event = 'start'
),
ends AS (
    SELECT process_id, marker_id, timestamp_ns, thread_id FROM marker WHERE event = 'end'
),
-- One row a marker, so that no range is ever doubled.
attributes AS (
    SELECT process_id, marker_id, first(marker_data) AS data
    FROM marker_data
    GROUP BY process_id, marker_id
),
ranges AS MATERIALIZED (
    SELECT starts.process_id, starts.timestamp_ns AS start_ns, ends.timestamp_ns AS end_ns,
           starts.name, starts.domain, starts.thread_id, ends.thread_id AS end_thread_id,
           starts.marker_id,
           row_number() OVER (
               ORDER BY starts.process_id, starts.timestamp_ns, starts.marker_id
           ) AS range_id,
           coalesce(ends.timestamp_ns, 9223372036854775807) AS until_ns
    FROM starts
    ASOF LEFT JOIN ends
        ON ends.process_id = starts.process_id
        AND ends.marker_id = starts.marker_id
        AND ends.timestamp_ns >= starts.timestamp_ns
),
-- At one time: ends of earlier ranges, then starts, the longer first, then ends of empty ranges.
events AS (
    SELECT process_id, thread_id, range_id, start_ns AS at_ns, 1 AS place, -until_ns AS length_ns,
           1 AS step
    FROM ranges
    UNION ALL
    SELECT process_id, thread_id, range_id, until_ns,
           CASE WHEN until_ns > start_ns THEN 0 ELSE 2 END, 0, -1
    FROM ranges
),
opened AS (
    SELECT *, sum(step) OVER (
               PARTITION BY process_id, thread_id ORDER BY at_ns, place, length_ns, range_id
               ROWS UNBOUNDED PRECEDING
           ) AS level
    FROM events
),
levels AS (
    SELECT ranges.*, opened.level
    FROM opened
    JOIN ranges ON ranges.range_id = opened.range_id
    WHERE opened.step = 1
),
parents AS MATERIALIZED (
    SELECT levels.range_id, levels.name,
           CASE WHEN around.until_ns >= levels.until_ns THEN around.range_id END AS parent_range_id
    FROM levels
    ASOF LEFT JOIN levels AS around
        ON around.process_id = levels.process_id
        AND around.thread_id IS NOT DISTINCT FROM levels.thread_id
        AND around.level = levels.level - 1
        AND around.start_ns <= levels.start_ns
),
paths AS (
    SELECT range_id, parent_range_id, 0 AS depth, name AS path
    FROM parents
    WHERE parent_range_id IS NULL
    UNION ALL
    SELECT parents.range_id, parents.parent_range_id, paths.depth + 1,
           concat(paths.path, ' / ', parents.name)
    FROM parents
    JOIN paths ON paths.range_id = parents.parent_range_id
)
SELECT ranges.process_id, ranges.start_ns, ranges.end_ns, ranges.name, ranges.domain,
       ranges.thread_id, ranges.end_thread_id, data.category,
       CASE WHEN data.payload_kind IN ('int64', 'uint64') THEN data.payload END AS payload_int,
       CASE WHEN data.payload_kind = 'double' THEN data.payload_double END AS payload_double,
       CASE WHEN data.has_color THEN data.color END AS color,
       ranges.marker_id, ranges.range_id, paths.parent_range_id, paths.depth, paths.path
FROM ranges
JOIN paths ON paths.range_id = ranges.range_id
LEFT JOIN attributes
    ON attributes.process_id = ranges.process_id
    AND attributes.marker_id = ranges.marker_id
