-- What one rank sent another through NCCL: each send with its receive.
--
-- computed: Pairs of _nccl_pair. Times are put on one clock by _clock_base.
-- requires: nccl_event
-- limits: If one of two ranks was recorded later than the other, or lost events, the rest of their
--   pairs is wrong, or not here where sizes differ. One kernel may be many sends and receives: its
--   times are theirs.
-- scope: start_ns
-- columns:
--   communicator, from_rank, to_rank, number, size_bytes, datatype of _nccl_pair
--   start_ns BIGINT [epoch ns]: When the kernel of the send began, by the clock of its process.
--   end_ns BIGINT [epoch ns]: When it ended.
--   receive_late_ns BIGINT [ns]: How much later the kernel of the receive began; negative if it
--     waited for the send. NULL if it is not known how their clocks differ.
--   both_ns BIGINT [ns]: How long both kernels ran at a time; NULL likewise.
WITH clocks AS (
    SELECT process_id, base_id, ahead_ns, coalesce(drift_ppm, 0) AS drift_ppm,
           coalesce(at_ns, 0) AS at_ns
    FROM _clock_base
),
aligned AS (
    SELECT pairs.*,
           mine.ahead_ns + TRY_CAST(mine.drift_ppm * (end_ns - mine.at_ns) / 1e6 AS BIGINT)
               AS send_ahead_ns,
           other.ahead_ns + TRY_CAST(other.drift_ppm * (receive_end_ns - other.at_ns) / 1e6
                                     AS BIGINT) AS receive_ahead_ns
    FROM _nccl_pair AS pairs
    LEFT JOIN clocks AS mine ON mine.process_id = pairs.process_id
    LEFT JOIN clocks AS other
        ON other.process_id = receive_process_id
        AND other.base_id = mine.base_id
)
SELECT communicator, from_rank, to_rank, number, size_bytes, datatype, start_ns, end_ns,
       (receive_start_ns - receive_ahead_ns) - (start_ns - send_ahead_ns) AS receive_late_ns,
       greatest(0, least(receive_end_ns - receive_ahead_ns, end_ns - send_ahead_ns)
           - greatest(receive_start_ns - receive_ahead_ns, start_ns - send_ahead_ns))
           + 0 * (receive_ahead_ns + send_ahead_ns) AS both_ns
FROM aligned
ORDER BY start_ns, from_rank, to_rank, number
