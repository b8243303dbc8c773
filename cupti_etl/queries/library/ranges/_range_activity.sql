-- Each activity of a GPU in each NVTX range that asked for it, by itself or by a range inside it.
--
-- computed: Activities whose launching call began while a range was the innermost of the call's
--   thread, or waited for that thread (_range_wait), for that range and all around it
--   (_range_around).
-- limits: As of range_gpu.
-- scope: start_ns
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The call.
--   start_ns BIGINT [epoch ns]: When the activity began.
--   end_ns BIGINT [epoch ns]: When it ended.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph.
WITH own AS (
    SELECT innermost.range_id, work.*
    FROM (SELECT * FROM launch_to_gpu WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL) AS work
    ASOF JOIN _range_served AS innermost
        ON innermost.process_id = work.process_id
        AND innermost.thread_id = work.thread_id
        AND innermost.at_ns <= work.api_start_ns
    WHERE innermost.range_id IS NOT NULL
)
SELECT around.around_id AS range_id,
       coalesce(gpu.gpu, -1 - TRY_CAST((hash(own.process_id, own.device_id) >> 33) AS BIGINT))
           AS gpu,
       own.process_id, own.correlation_id, own.start_ns,
       greatest(own.start_ns, own.end_ns) AS end_ns, own.kind
FROM own
JOIN _range_around AS around ON around.range_id = own.range_id
LEFT JOIN gpu ON gpu.process_id = own.process_id AND gpu.device_id = own.device_id
