-- Channels of NCCL's operations, with times on the clock of kernels.
--
-- computed: NCCL tells the times of a channel by the GPU's timer, which drifts from the clock of
--   kernels by some microseconds a second (_nccl_gpu_clock). It counts what a channel does on the
--   GPU and again on the host, where it leaves out what a rank sends to itself, as all-to-alls do:
--   from then on, operations are told the times of earlier ones. So times are those that any
--   operation of the communicator was told of the channel and that lie in the kernel.
-- requires: nccl_event
-- limits: Only with --nccl channels. As _nccl_kernel.
-- scope: start_ns
-- columns:
--   process_id, event_id, correlation_id, communicator, rank, function, channel of _nccl_placed
--   start_ns BIGINT [epoch ns]: When it began; NULL if that is not known.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if that is not known.
--   gpu_start BIGINT [ns]: When it began, by the GPU's timer.
WITH told AS (
    -- A start that was read too early is that of long ago, as an end may be.
    SELECT *, greatest(gpu_start, gpu_end) + ahead_ns AS last_ns,
           dense_rank() OVER (
               PARTITION BY process_id, correlation_id, communicator, channel ORDER BY last_ns
           ) AS number
    FROM _nccl_placed
    WHERE gpu_start IS NOT NULL
),
timed AS (
    SELECT stamp.*, used.correlation_id, used.earliest_ns, used.latest_ns,
           dense_rank() OVER (
               PARTITION BY stamp.process_id, used.correlation_id, stamp.communicator, stamp.channel
               ORDER BY stamp.last_ns
           ) AS number
    FROM (
        SELECT DISTINCT process_id, communicator, channel, last_ns, gpu_start, gpu_end, ahead_ns
        FROM told
    ) AS stamp
    ASOF JOIN (
        SELECT DISTINCT process_id, communicator, channel, correlation_id, earliest_ns, latest_ns
        FROM told
    ) AS used
        ON used.process_id = stamp.process_id
        AND used.communicator = stamp.communicator
        AND used.channel = stamp.channel
        AND used.earliest_ns <= stamp.last_ns
    WHERE stamp.last_ns <= used.latest_ns
)
SELECT process_id, event_id, correlation_id, communicator, rank, "function", channel,
       CASE WHEN timed.gpu_start + timed.ahead_ns >= timed.earliest_ns
            THEN timed.gpu_start + timed.ahead_ns END AS start_ns,
       CASE WHEN timed.gpu_end + timed.ahead_ns >= timed.earliest_ns
            THEN timed.gpu_end + timed.ahead_ns END AS end_ns,
       timed.gpu_start
FROM told
LEFT JOIN timed USING (process_id, correlation_id, communicator, channel, number)
