-- Times in which a thread captured a CUDA graph: what it launched meanwhile did not run.
--
-- computed: From when a call that begins a capture of a stream returned to when the next call of
--   its thread that ends one was entered (CUDA C++ Programming Guide, "Creating a Graph Using
--   Stream Capture").
-- requires:
--   _capture_call: no call captures a stream.
-- materialized: Few rows, of all calls.
-- limits: A capture that another thread ends, as one in relaxed mode may be, is not seen.
-- scope: host start_ns to end_ns
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: Thread that captured.
--   start_ns BIGINT [epoch ns]: When the capture had begun.
--   end_ns BIGINT [epoch ns]: When its end was asked for.
--   launches BIGINT [calls]: Launching calls of the thread meanwhile; of the runtime API and the
--     driver API, which are within each other, those of which there are more.
WITH captures AS (
    SELECT process_id, thread_id, end_ns AS start_ns, until_ns AS end_ns
    FROM (
        SELECT *, lead(is_begin) OVER calls AS goes_on, lead(start_ns) OVER calls AS until_ns
        FROM _capture_call
        WINDOW calls AS (PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC)
    )
    WHERE is_begin AND NOT goes_on AND until_ns > end_ns
),
launches AS (
    SELECT process_id, thread_id, captures.start_ns, domain, count(*) AS n
    FROM (
        FROM api_call
        -- Of most traces none is left.
        SEMI JOIN captures USING (process_id, thread_id)
        WHERE contains(name, 'Launch')
    ) AS call
    ASOF JOIN captures USING (process_id, thread_id, start_ns)
    WHERE call.start_ns < captures.end_ns
    GROUP BY process_id, thread_id, captures.start_ns, domain
)
SELECT process_id, thread_id, start_ns, end_ns, coalesce(max(n), 0) AS launches
FROM captures
LEFT JOIN launches USING (process_id, thread_id, start_ns)
GROUP BY process_id, thread_id, start_ns, end_ns
