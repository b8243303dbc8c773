-- Matched collective operations of each rank: what of their time is waiting, and what transfer.
--
-- computed: Operations of _collective_match that end together and that all their ranks have. Their
--   times are put on one clock by _clock_base, drift included, or, where that knows of no base that
--   they share and NCCL's or PyTorch's numbers match them, by the median of the differences of
--   their ends from that of their first rank. A rank waits from its start until the last one
--   starts, and at most until its own end; the rest is transfer.
-- requires: _collective
-- limits: Broadcasts and sends do not end together; they are left out.
-- scope: start_ns
-- columns:
--   operation BIGINT: Number of the operation, as in _collective_match.
--   process_id, rank, gpu of _collective_match
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter, AllToAll or Barrier.
--   communicator, algorithm, protocol, bytes of _collective_match
--   ranks BIGINT [ranks]: Ranks that have it.
--   matched_by VARCHAR: nccl, pytorch, order or clock, as in _collective_match.
--   start_ns BIGINT [epoch ns]: When its kernel began, by the clock of its process.
--   end_ns BIGINT [epoch ns]: When it ended.
--   late_ns BIGINT [ns]: How much later than on the first rank its kernel began.
--   call_late_ns BIGINT [ns]: How much later than the first rank the program called NCCL; NULL if
--     NCCL did not tell.
--   wait_ns BIGINT [ns]: Of its time, until the last rank began.
--   transfer_ns BIGINT [ns]: The rest of its time.
--   is_last BOOLEAN: Whether the others waited for it; of no rank if all came at once.
--   caused_ns BIGINT [ns]: How long the others waited for it, summed over them; 0 if it was not
--     last.
WITH members AS (
    SELECT match.*, base_id, ahead_ns, clocks.at_ns AS clock_at_ns, drift_ppm,
           count(*) OVER (PARTITION BY operation) AS n,
           first_value(base_id) OVER in_order AS first_base_id,
           first_value(end_ns - ahead_ns) OVER in_order AS first_until_ns
    FROM _collective_match AS match
    JOIN _clock_base AS clocks ON clocks.process_id = match.process_id
    WHERE matched_by IS NOT NULL AND ends_together
    WINDOW in_order AS (PARTITION BY operation ORDER BY match.rank, match.process_id)
),
complete AS (
    SELECT * FROM members WHERE n = coalesce(group_size, n)
),
offsets AS (
    SELECT process_id, first_base_id, median(end_ns - first_until_ns)::BIGINT AS ahead_ns
    FROM complete
    WHERE base_id <> first_base_id AND matched_by NOT IN ('clock', 'order')
    GROUP BY process_id, first_base_id
),
aligned AS (
    SELECT complete.*,
           CASE WHEN base_id = complete.first_base_id
                THEN complete.ahead_ns
                     + coalesce(TRY_CAST(drift_ppm * (end_ns - clock_at_ns) / 1e6 AS BIGINT), 0)
                ELSE offsets.ahead_ns END AS then_ahead_ns,
           start_ns - then_ahead_ns AS at_ns, end_ns - then_ahead_ns AS until_ns,
           call_start_ns - then_ahead_ns AS call_ns
    FROM complete
    LEFT JOIN offsets USING (process_id, first_base_id)
    WHERE then_ahead_ns IS NOT NULL
),
waits AS (
    SELECT *, at_ns - min(at_ns) OVER same AS late_ns, call_ns - min(call_ns) OVER same AS
               call_late_ns,
           greatest(0, least(max(at_ns) OVER same, until_ns) - at_ns) AS wait_ns,
           late_ns > 0 AND row_number() OVER (
               PARTITION BY operation ORDER BY at_ns DESC, rank, process_id
           ) = 1 AS is_last
    FROM aligned
    WINDOW same AS (PARTITION BY operation)
    QUALIFY count(*) OVER same = n
)
SELECT operation, process_id, rank, gpu, collective, communicator, algorithm, protocol, bytes,
       n AS ranks, matched_by, start_ns, end_ns, late_ns, call_late_ns, wait_ns,
       end_ns - start_ns - wait_ns AS transfer_ns, is_last,
       CASE WHEN is_last THEN TRY_CAST(sum(wait_ns) OVER (PARTITION BY operation) AS BIGINT)
            ELSE 0 END AS caused_ns
FROM waits
