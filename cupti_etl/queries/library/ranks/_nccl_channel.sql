-- Channels of NCCL's operations, with times on the clock of kernels.
--
-- computed: NCCL tells the times of a channel by the GPU's timer, which drifts from the clock of
--   kernels by some microseconds a second (_nccl_gpu_clock). Times that are not those of the kernel
--   are NULL.
-- requires: nccl_event
-- limits: Only with --nccl channels. As _nccl_kernel.
-- scope: start_ns
-- columns:
--   process_id, event_id, correlation_id, communicator, rank, function, channel of _nccl_placed
--   start_ns BIGINT [epoch ns]: When it began; NULL if that is not known.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if that is not known.
--   gpu_start BIGINT [ns]: When it began, by the GPU's timer.
WITH timed AS (
    SELECT *, gpu_start + ahead_ns AS start_ns, gpu_end + ahead_ns AS end_ns
    FROM _nccl_placed
    WHERE gpu_start IS NOT NULL
)
SELECT process_id, event_id, correlation_id, communicator, rank, "function", channel,
       CASE WHEN start_ns BETWEEN earliest_ns AND latest_ns THEN start_ns END AS start_ns,
       CASE WHEN end_ns BETWEEN earliest_ns AND latest_ns THEN end_ns END AS end_ns, gpu_start
FROM timed
