-- NVTX ranges, of push and pop as well as of start and end.
--
-- computed: Each start in marker with the first end after it that has its marker_id, in the same
--   process, and with its row in marker_data.
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
WITH starts AS (
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
)
SELECT starts.process_id,
       starts.timestamp_ns AS start_ns,
       ends.timestamp_ns AS end_ns,
       starts.name,
       starts.domain,
       starts.thread_id,
       ends.thread_id AS end_thread_id,
       data.category,
       CASE WHEN data.payload_kind IN ('int64', 'uint64') THEN data.payload END AS payload_int,
       CASE WHEN data.payload_kind = 'double' THEN data.payload_double END AS payload_double,
       CASE WHEN data.has_color THEN data.color END AS color,
       starts.marker_id
FROM starts
ASOF LEFT JOIN ends
    ON ends.process_id = starts.process_id
    AND ends.marker_id = starts.marker_id
    AND ends.timestamp_ns >= starts.timestamp_ns
LEFT JOIN attributes
    ON attributes.process_id = starts.process_id
    AND attributes.marker_id = starts.marker_id
