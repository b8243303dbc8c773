-- Phases of NCCL's channels, with times on the clock of kernels: waiting, working, waiting again.
--
-- computed: As _nccl_channel.
-- requires: nccl_event
-- limits: Only with --nccl channels, NCCL 2.31 and later, and kernels on symmetric memory (buffers
--   that the program registered as windows). As _nccl_kernel.
-- scope: start_ns
-- columns:
--   process_id, event_id, correlation_id, communicator, rank of _nccl_placed
--   function VARCHAR: AllReduce, AllGather, ReduceScatter and so on.
--   channel INTEGER: Number of the channel.
--   phase VARCHAR: initial_sync (until the others have arrived), compute or final_sync.
--   start_ns BIGINT [epoch ns]: When it began; NULL if that is not known.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if that is not known.
SELECT told.process_id, channels.event_id, channels.correlation_id, told.communicator, told.rank,
       channels."function", told.channel, told."function" AS phase,
       CASE WHEN told.gpu_start + ahead_ns BETWEEN earliest_ns AND latest_ns
            THEN told.gpu_start + ahead_ns END AS start_ns,
       CASE WHEN told.gpu_end + ahead_ns BETWEEN earliest_ns AND latest_ns
            THEN told.gpu_end + ahead_ns END AS end_ns
FROM nccl_event AS told
JOIN _nccl_placed AS channels
    ON channels.process_id = told.process_id
    AND channels.channel_id = told.parent_id
WHERE told.kind = 'phase' AND told.gpu_start IS NOT NULL
