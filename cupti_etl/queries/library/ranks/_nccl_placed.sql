-- Channels of NCCL's operations as they were told, each with its kernel and the clock.
--
-- computed: The kernel is that of the operation (_nccl_kernel), the clock that by which the GPU's
--   timer is read beside it (_nccl_gpu_clock).
-- requires: nccl_event
-- limits: Only with --nccl channels. As _nccl_kernel.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   channel_id BIGINT: The event that told of it, as event_id in nccl_event.
--   event_id BIGINT: The operation, as in nccl_event.
--   correlation_id BIGINT: The launch of its kernel.
--   communicator BIGINT: Id of the communicator.
--   rank, function of _nccl_kernel
--   channel INTEGER: Number of the channel.
--   gpu_start BIGINT [ns]: When it is told to have begun, by the GPU's timer.
--   gpu_end BIGINT [ns]: When it is told to have ended, by the GPU's timer.
--   ahead_ns BIGINT [ns]: How far the clock of kernels is ahead of the GPU's timer.
--   earliest_ns BIGINT [epoch ns]: What is before cannot be of this kernel.
--   latest_ns BIGINT [epoch ns]: What is after cannot be of it; the largest number if the kernel
--     has no end.
SELECT told.process_id, told.event_id AS channel_id, kernel.event_id, kernel.correlation_id,
       told.communicator, told.rank, kernel."function", told.channel, told.gpu_start, told.gpu_end,
       clock.ahead_ns, kernel.start_ns - 2000 AS earliest_ns,
       coalesce(kernel.end_ns + 20000, 9223372036854775807) AS latest_ns
FROM nccl_event AS told
JOIN _nccl_kernel AS kernel
    ON kernel.process_id = told.process_id
    AND kernel.event_id = told.parent_id
JOIN _nccl_gpu_clock AS clock
    ON clock.process_id = kernel.process_id
    AND clock.correlation_id = kernel.correlation_id
WHERE told.kind = 'channel'
