-- Operations of NCCL that were launched and whose kernels are not known to have ended.
--
-- computed: Operations of nccl_event whose launch is among the recorded calls of their thread, and
--   whose kernel has no end in the trace. Ranks that called are those that told of the operation
--   with the same communicator, function and number.
-- requires: nccl_event
-- limits: Of a process that was killed, operations of its last moments can be here that had ended
--   (loss says which moments). Operations in CUDA graphs are not here.
-- front: In which NCCL operation does the program hang, and who has not called it?
-- first: rank, function, communicator, sequence, ranks, ranks_that_called, size_bytes
-- scope: host launch_start_ns
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank among all processes; NULL if it has none.
--   communicator BIGINT: Id of the communicator, the same on all its ranks.
--   communicator_rank INTEGER: Rank in the communicator.
--   function VARCHAR: AllReduce, AllGather, ReduceScatter, Send and so on.
--   sequence BIGINT: Number among those of its function and communicator; NULL of p2p.
--   peer INTEGER: The other rank of a p2p; NULL of others.
--   size_bytes BIGINT [bytes]: Its size, as given in the call.
--   launch_start_ns BIGINT [epoch ns]: When its kernel was launched.
--   ranks INTEGER [ranks]: Ranks of the communicator.
--   ranks_that_called BIGINT [ranks]: Ranks that told of it; NULL of p2p.
WITH told AS (
    SELECT *, CASE WHEN sequence IS NOT NULL
                   THEN count(DISTINCT rank) OVER (
                       PARTITION BY communicator, "function", sequence
                   ) END AS ranks_that_called
    FROM nccl_event
    WHERE kind IN ('collective', 'p2p') AND is_graph IS NOT TRUE
),
calls AS (
    SELECT told.process_id, told.event_id, calls.correlation_id
    FROM (FROM told WHERE launch_end_ns IS NOT NULL) AS told
    ASOF JOIN (FROM api_call WHERE contains(name, 'LaunchKernel')) AS calls
        ON calls.process_id = told.process_id
        AND calls.thread_id = told.thread_id
        AND calls.start_ns <= told.launch_end_ns
    WHERE calls.start_ns >= told.launch_start_ns
)
SELECT told.process_id, process.rank, communicator, told.rank AS communicator_rank, "function",
       sequence, peer, size_bytes, launch_start_ns, ranks, ranks_that_called
FROM told
JOIN calls USING (process_id, event_id)
LEFT JOIN (SELECT process_id, any_value(rank) AS rank FROM process GROUP BY process_id) AS process
    ON process.process_id = told.process_id
LEFT JOIN (FROM kernel WHERE end_ns IS NOT NULL) AS kernel USING (process_id, correlation_id)
WHERE kernel.correlation_id IS NULL
ORDER BY launch_start_ns, process.rank, event_id
