-- Channels of NCCL's operations, with times on the clock of kernels.
--
-- computed: NCCL tells the times of a channel by the GPU's timer, which drifts from the clock of
--   kernels by some microseconds a second (_nccl_gpu_clock). Times that are not those of the kernel
--   are NULL.
-- needs: nccl_event, _nccl_kernel, _nccl_gpu_clock
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
--   start_ns BIGINT [epoch ns]: When it began; NULL if that is not known.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if that is not known.
--   gpu_start BIGINT [ns]: When it began, by the GPU's timer.
WITH placed AS (
    SELECT told.process_id, kernel.event_id, kernel.correlation_id, told.communicator, told.rank,
           kernel."function", told.channel, told.gpu_start + clock.ahead_ns AS start_ns,
           told.gpu_end + clock.ahead_ns AS end_ns, clock.earliest_ns,
           coalesce(clock.latest_ns, 9223372036854775807) AS latest_ns, told.gpu_start
    FROM nccl_event AS told
    JOIN _nccl_kernel AS kernel
        ON kernel.process_id = told.process_id
        AND kernel.event_id = told.parent_id
    JOIN _nccl_gpu_clock AS clock
        ON clock.process_id = kernel.process_id
        AND clock.correlation_id = kernel.correlation_id
    WHERE told.kind = 'channel' AND told.gpu_start IS NOT NULL
)
SELECT process_id, event_id, correlation_id, communicator, rank, "function", channel,
       CASE WHEN start_ns BETWEEN earliest_ns AND latest_ns THEN start_ns END AS start_ns,
       CASE WHEN end_ns BETWEEN earliest_ns AND latest_ns THEN end_ns END AS end_ns, gpu_start
FROM placed
