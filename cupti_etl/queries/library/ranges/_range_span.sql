-- NVTX ranges, of push and pop as well as of start and end, one by one.
--
-- computed: Each start in marker with the first end after it that has its marker_id, in the same
--   process; one whose end lies before its start, as where the clock was set back, ends at its
--   start. NCCL ends some of its own (ncclCommInitRankConfig) by an extension of NVTX of which
--   CUPTI does not tell: without an end, they are left out if their thread began others later.
-- requires: marker
-- materialized: Made once for an opened trace, as every query about ranges reads it.
-- limits: As of nvtx_range.
-- scope: whole
-- columns:
--   process_id BIGINT: The traced process that made the record.
--   start_ns BIGINT [epoch ns]: When the range began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it did not while tracing.
--   name VARCHAR: Text of the range.
--   domain VARCHAR: NVTX domain; NULL for the default domain.
--   thread_id INTEGER: The thread that began it.
--   end_thread_id INTEGER: The thread that ended it.
--   marker_id INTEGER: CUPTI's number of the range in its process.
--   range_id BIGINT: Number of the range in this trace.
WITH starts AS (
    SELECT * FROM marker WHERE event = 'start'
),
ends AS (
    SELECT process_id, marker_id, timestamp_ns, thread_id FROM marker WHERE event = 'end'
),
last AS (
    SELECT process_id, thread_id, max(timestamp_ns) AS at_ns FROM starts GROUP BY ALL
),
spans AS MATERIALIZED (
    SELECT starts.process_id, starts.timestamp_ns AS start_ns, ends.timestamp_ns AS end_ns,
           starts.name, starts.domain, starts.thread_id, ends.thread_id AS end_thread_id,
           starts.marker_id
    FROM starts
    ASOF LEFT JOIN ends
        ON ends.process_id = starts.process_id
        AND ends.marker_id = starts.marker_id
        AND ends.timestamp_ns >= starts.timestamp_ns
    LEFT JOIN last
        ON last.process_id = starts.process_id
        AND last.thread_id = starts.thread_id
        AND starts.domain = 'NCCL'
    WHERE NOT coalesce(ends.timestamp_ns IS NULL AND starts.timestamp_ns < last.at_ns, false)
),
open AS (
    SELECT DISTINCT process_id, marker_id FROM spans WHERE end_ns IS NULL
),
-- One with another end has that one, and no second range is its own.
early AS (
    SELECT process_id, marker_id, max(thread_id) AS thread_id
    FROM ends
    SEMI JOIN open USING (process_id, marker_id)
    ANTI JOIN (FROM spans WHERE end_ns IS NOT NULL) AS ended USING (process_id, marker_id)
    GROUP BY process_id, marker_id
)
SELECT spans.process_id, start_ns,
       CASE WHEN early.process_id IS NULL THEN end_ns ELSE coalesce(end_ns, start_ns) END AS end_ns,
       name, domain, spans.thread_id, coalesce(end_thread_id, early.thread_id) AS end_thread_id,
       spans.marker_id,
       row_number() OVER (
           ORDER BY spans.process_id, start_ns, spans.marker_id, spans.thread_id, hash(domain),
                    hash(name)
       ) AS range_id
FROM spans
LEFT JOIN early ON early.process_id = spans.process_id AND early.marker_id = spans.marker_id
