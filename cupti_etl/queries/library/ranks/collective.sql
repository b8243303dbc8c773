-- Collective operations: communication kernels, with rank, size and how much of each was exposed.
--
-- computed: Finished kernels whose category is communication, numbered by kernel name in the order
--   of their starts on each GPU. Exposed is what compute on the same GPU did not cover (union). The
--   size is the integer payload of the innermost NVTX range with nccl in its name around the call.
-- needs: gpu_interval, busy_interval, process, nvtx_range, launch_to_gpu
-- limits: The kind is taken from the kernel's name. Without NVTX payloads sizes are not known.
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank; NULL if it has none.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, SendRecv
--     or other.
--   name VARCHAR: Mangled name.
--   number BIGINT: Number among those of its name, rank and GPU, from 0.
--   start_ns BIGINT [ns]: When it began.
--   end_ns BIGINT [ns]: When it ended.
--   exposed_ns BIGINT [ns]: Time without compute beside it.
--   bytes BIGINT [bytes]: Size of the message; NULL if not known.
WITH ranks AS (
    SELECT process_id, any_value(rank) AS rank FROM process GROUP BY process_id
),
found AS (
    SELECT act.process_id, act.gpu, act.name, act.start_ns, act.end_ns, act.correlation_id,
           row_number() OVER (
               PARTITION BY act.process_id, act.gpu, act.name ORDER BY act.start_ns
           ) - 1 AS number,
           lower(act.name) AS text
    FROM gpu_interval AS act
    WHERE act.category = 'communication'
),
compute AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM busy_interval WHERE work = 'compute'
),
edges AS (
    SELECT process_id, gpu, name, number, start_ns AS at_ns, -1 AS sign FROM found
    UNION ALL
    SELECT process_id, gpu, name, number, end_ns, 1 FROM found
),
hidden AS (
    SELECT edges.process_id, edges.gpu, edges.name, edges.number,
           coalesce(sum(sign * (busy_before_ns + least(at_ns, compute.end_ns) - compute.start_ns)),
                    0)::BIGINT AS hidden_ns
    FROM edges
    ASOF LEFT JOIN compute ON compute.gpu = edges.gpu AND compute.start_ns <= edges.at_ns
    GROUP BY edges.process_id, edges.gpu, edges.name, edges.number
),
payloads AS (
    SELECT process_id, thread_id, start_ns, end_ns, payload_int
    FROM nvtx_range
    WHERE payload_int > 0 AND contains(lower(name), 'nccl')
),
sizes AS (
    SELECT calls.process_id, calls.correlation_id, any_value(payloads.payload_int) AS bytes
    FROM (SELECT * FROM launch_to_gpu WHERE category = 'communication') AS calls
    ASOF JOIN payloads
        ON payloads.process_id = calls.process_id
        AND payloads.thread_id = calls.thread_id
        AND payloads.start_ns <= calls.api_start_ns
    WHERE payloads.end_ns > calls.api_start_ns
    GROUP BY calls.process_id, calls.correlation_id
)
SELECT found.process_id, ranks.rank, found.gpu,
       CASE WHEN regexp_matches(text, 'all_?reduce|cross_device_reduce') THEN 'AllReduce'
            WHEN regexp_matches(text, 'all_?gather') THEN 'AllGather'
            WHEN regexp_matches(text, 'reduce_?scatter') THEN 'ReduceScatter'
            WHEN regexp_matches(text, 'broadcast') THEN 'Broadcast'
            WHEN regexp_matches(text, 'all_?to_?all') THEN 'AllToAll'
            WHEN regexp_matches(text, 'send_?recv|_send|_recv') THEN 'SendRecv'
            WHEN regexp_matches(text, 'reduce') THEN 'Reduce' ELSE 'other' END AS collective,
       found.name, found.number, found.start_ns, found.end_ns,
       found.end_ns - found.start_ns - hidden.hidden_ns AS exposed_ns, sizes.bytes
FROM found
JOIN hidden
    ON hidden.process_id = found.process_id
    AND hidden.gpu = found.gpu
    AND hidden.name = found.name
    AND hidden.number = found.number
LEFT JOIN ranks ON ranks.process_id = found.process_id
LEFT JOIN sizes
    ON sizes.process_id = found.process_id
    AND sizes.correlation_id = found.correlation_id
