-- Operations that NCCL told of, each with its kernel.
--
-- computed: NCCL says, or its order tells, between which two times a thread launched the kernel of
--   an operation. If exactly one call of that thread began then which launched a communication
--   kernel, it is that. So an operation or a kernel that was lost leaves others as they are.
-- requires: nccl_event
-- limits: Operations in CUDA graphs are not here, nor those of which NCCL tells on another thread
--   than launched them (over a network, beside CUDA graphs or with CUDA_LAUNCH_BLOCKING). Those by
--   copy engines have no kernel.
-- scope: start_ns
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id BIGINT: The process.
--   event_id BIGINT: The operation, as in nccl_event.
--   group_id BIGINT: Operations of one kernel have the same.
--   communicator, rank, ranks of nccl_event
--   sequence BIGINT: Number among those of its function and communicator; NULL of p2p.
--   function VARCHAR: AllReduce, AllGather, ReduceScatter, Send and so on.
--   peer, datatype, count, size_bytes, algorithm, protocol, channels, call_start_ns of nccl_event
--   correlation_id BIGINT: The launch.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   name VARCHAR: Mangled name of the kernel.
--   start_ns BIGINT [epoch ns]: When the kernel began.
--   end_ns BIGINT [epoch ns]: When it ended.
WITH launches AS (
    SELECT process_id, thread_id, correlation_id, device_id, name, api_start_ns, start_ns, end_ns
    FROM launch_to_gpu
    WHERE category = 'communication'
),
groups AS (
    SELECT process_id, thread_id, group_id, min(launch_start_ns) AS from_ns,
           max(launch_end_ns) AS until_ns
    FROM nccl_event
    WHERE group_id IS NOT NULL AND launch_start_ns IS NOT NULL AND is_graph IS NOT TRUE
    GROUP BY process_id, thread_id, group_id
    HAVING until_ns IS NOT NULL
),
found AS (
    SELECT launches.*, groups.group_id
    FROM launches
    ASOF JOIN groups
        ON groups.process_id = launches.process_id
        AND groups.thread_id = launches.thread_id
        AND groups.from_ns <= launches.api_start_ns
    WHERE launches.api_start_ns <= groups.until_ns
    QUALIFY count(*) OVER (PARTITION BY groups.process_id, groups.group_id) = 1
)
SELECT event.process_id, event_id, event.group_id, communicator, rank, ranks, sequence,
       "function", peer, datatype, count, size_bytes, algorithm, protocol, channels, call_start_ns,
       correlation_id, device_id, found.name, found.start_ns, found.end_ns
FROM nccl_event AS event
JOIN found ON found.process_id = event.process_id AND found.group_id = event.group_id;

-- merge
FROM partial
ORDER BY process_id, event_id
