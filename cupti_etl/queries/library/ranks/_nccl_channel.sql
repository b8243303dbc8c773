-- Channels of NCCL's operations, with times on the clock of kernels.
--
-- computed: NCCL tells the times of a channel by the GPU's timer, which drifts from the clock of
--   kernels by some microseconds a second. Of each kernel, the first channel is taken to begin with
--   it; it does so a few microseconds later.
-- needs: nccl_event, _nccl_kernel
-- requires:
--   nccl_event: NCCL told of nothing; loss may say why.
-- limits: Only with --nccl channels. As _nccl_kernel.
-- scope: start_ns
-- columns:
--   process_id BIGINT: The process.
--   event_id BIGINT: The operation, as in nccl_event.
--   correlation_id BIGINT: The launch of its kernel.
--   communicator BIGINT: Id of the communicator.
--   rank INTEGER: Rank in the communicator.
--   function VARCHAR: AllReduce, AllGather, ReduceScatter, Send and so on.
--   channel INTEGER: Number of the channel.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if that is not known.
--   gpu_start BIGINT [ns]: When it began, by the GPU's timer.
SELECT told.process_id, kernel.event_id, kernel.correlation_id, told.communicator, told.rank,
       kernel."function", told.channel,
       kernel.start_ns + (told.gpu_start - min(told.gpu_start) OVER of_kernel) AS start_ns,
       kernel.start_ns + (told.gpu_end - min(told.gpu_start) OVER of_kernel) AS end_ns,
       told.gpu_start
FROM nccl_event AS told
JOIN _nccl_kernel AS kernel
    ON kernel.process_id = told.process_id
    AND kernel.event_id = told.parent_id
WHERE told.kind = 'channel' AND told.gpu_start IS NOT NULL
WINDOW of_kernel AS (PARTITION BY kernel.process_id, kernel.correlation_id)
