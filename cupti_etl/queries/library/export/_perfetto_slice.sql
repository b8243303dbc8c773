-- What threads did, as slices and instants of a Perfetto trace, in no order.
--
-- computed: API calls, ranges and marks on the track of their thread; waits, and what was lost or
--   not recorded, on tracks of their process.
-- columns:
--   track BIGINT: From bit 40 on one more than process_place, from bit 32 on what it is of (1 what
--     a thread did, 2 ranges of no thread, 3 waits, 4 losses), below that the thread.
--   process_place BIGINT: Number of the process, as in _export_process; 0 if it is not known.
--   layer BIGINT: Of two with the same times, the outer one has the lower number.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it did not while tracing.
--   is_instant BOOLEAN: Whether it has no duration by its nature.
--   is_call BOOLEAN: Whether it is a call of CUDA.
--   category VARCHAR: What it is: cuda_runtime, cuda_driver, cuda_sync, loss, or domain of a range.
--   name VARCHAR: What it is called.
--   launch_id BIGINT: Correlation id of a call of launch; NULL for others.
--   arguments VARCHAR: What else is known of it, as a JSON object; NULL for nothing.
WITH calls AS (
    SELECT *, correlation_id AS launch_id
    FROM api_call
    ANTI JOIN _shared_correlation USING (process_id, correlation_id)
    UNION ALL
    SELECT *, correlation_id FROM _shared_launch
    UNION ALL
    SELECT call.*, NULL
    FROM api_call AS call
    SEMI JOIN _shared_correlation USING (process_id, correlation_id)
    ANTI JOIN _shared_launch AS launch
        ON launch.process_id = call.process_id AND launch.correlation_id = call.correlation_id
        AND launch.start_ns IS NOT DISTINCT FROM call.start_ns
        AND launch.end_ns IS NOT DISTINCT FROM call.end_ns
        AND launch.domain IS NOT DISTINCT FROM call.domain
),
given AS (
    SELECT process_id, marker_id, min(arguments) AS arguments
    FROM argument
    WHERE marker_id IS NOT NULL AND arguments <> '{}'
    GROUP BY process_id, marker_id
),
things AS (
    SELECT process_id, 1 AS content, thread_id, 1::BIGINT << 40 AS layer, start_ns, end_ns,
           false AS is_instant, true AS is_call,
           CASE domain WHEN 'driver' THEN 'cuda_driver' ELSE 'cuda_runtime' END AS category, name,
           launch_id, NULL::VARCHAR AS arguments
    FROM calls
    UNION ALL
    SELECT ranges.process_id, CASE WHEN thread_id IS NULL THEN 2 ELSE 1 END, thread_id,
           ranges.range_id, ranges.start_ns, ranges.end_ns, false, false, domain, ranges.name,
           NULL, given.arguments
    FROM nvtx_range AS ranges
    LEFT JOIN given USING (process_id, marker_id)
    UNION ALL
    SELECT process_id, CASE WHEN thread_id IS NULL THEN 2 ELSE 1 END, thread_id, 1::BIGINT << 41,
           timestamp_ns, timestamp_ns, true, false, domain, name, NULL, NULL
    FROM marker
    WHERE event = 'instant'
    UNION ALL
    SELECT process_id, 3, NULL, 0, start_ns, end_ns, false, false, 'cuda_sync',
           replace(type, '_', ' '), NULL,
           CASE WHEN stream_id IS NOT NULL THEN to_json({stream: stream_id})::VARCHAR END
    FROM synchronization
    UNION ALL
    SELECT process_id, 4, NULL, 0, start_ns, end_ns, false, false, 'loss',
           concat_ws(': ', cause, table_name), NULL,
           to_json({records: records, detail: detail})::VARCHAR
    FROM _timeline_loss
)
SELECT ((coalesce(processes.place, 0) + 1) << 40) + (content::BIGINT << 32)
           + (coalesce(thread_id, 0)::BIGINT & 4294967295) AS track,
       coalesce(processes.place, 0) AS process_place, layer::BIGINT AS layer, start_ns,
       CASE WHEN end_ns < start_ns THEN start_ns ELSE end_ns END AS end_ns, is_instant, is_call,
       category,
       coalesce(things.name, '') AS name, launch_id, arguments
FROM things
LEFT JOIN _export_process AS processes ON processes.process_id = things.process_id
WHERE start_ns >= 0
