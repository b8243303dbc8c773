-- What one rank sent another through NCCL: each send with its receive.
--
-- computed: The sends of a rank to another are numbered in their order in a communicator, and so
--   are the receives there; equal numbers belong together if both have one size. Times are put on
--   the clock of the first rank by rank_clock.
-- needs: _nccl_kernel, rank_clock
-- requires:
--   nccl_event: NCCL told of nothing; loss may say why.
-- limits: If one of two ranks was recorded later than the other, or lost events, the rest of their
--   pairs is wrong, or not here where sizes differ. One kernel may be many sends and receives: its
--   times are theirs.
-- scope: start_ns
-- columns:
--   communicator BIGINT: Id of the communicator.
--   from_rank INTEGER: Who sends, by its rank in the communicator.
--   to_rank INTEGER: Who receives.
--   number BIGINT: Number of the pair among those of the two, from 0.
--   size_bytes BIGINT [bytes]: What was sent.
--   datatype VARCHAR: Type of an element, as NCCL names it.
--   start_ns BIGINT [epoch ns]: When the kernel of the send began, by the clock of its process.
--   end_ns BIGINT [epoch ns]: When it ended.
--   receive_late_ns BIGINT [ns]: How much later the kernel of the receive began; negative if it
--     waited for the send. NULL if the clocks are not known.
--   both_ns BIGINT [ns]: How long both kernels ran at a time; NULL likewise.
WITH each AS (
    SELECT told.*,
           ahead_ns + coalesce(TRY_CAST(drift_ppm * (end_ns - at_ns) / 1e6 AS BIGINT), 0)
               AS ahead_ns,
           row_number() OVER (
               PARTITION BY told.process_id, communicator, told.rank, "function", peer
               ORDER BY event_id
           ) - 1 AS number
    FROM _nccl_kernel AS told
    LEFT JOIN rank_clock ON rank_clock.process_id = told.process_id
    WHERE "function" IN ('Send', 'Recv')
)
SELECT sends.communicator, sends.rank AS from_rank, sends.peer AS to_rank, sends.number,
       sends.size_bytes, sends.datatype, sends.start_ns, sends.end_ns,
       (receives.start_ns - receives.ahead_ns) - (sends.start_ns - sends.ahead_ns)
           AS receive_late_ns,
       greatest(0, least(receives.end_ns - receives.ahead_ns, sends.end_ns - sends.ahead_ns)
           - greatest(receives.start_ns - receives.ahead_ns, sends.start_ns - sends.ahead_ns))
           + 0 * (receives.ahead_ns + sends.ahead_ns) AS both_ns
FROM each AS sends
JOIN each AS receives
    ON receives.communicator = sends.communicator
    AND receives.rank = sends.peer
    AND receives.peer = sends.rank
    AND receives.number = sends.number
WHERE sends."function" = 'Send' AND receives."function" = 'Recv'
    AND sends.size_bytes IS NOT DISTINCT FROM receives.size_bytes
ORDER BY sends.start_ns, from_rank, to_rank, sends.number
