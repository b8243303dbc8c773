-- What of each rank's time in collective operations is waiting for others, and for whom.
--
-- computed: Sums of _collective_wait over the operations of a rank, or of a GPU of processes
--   without one. Waiting lasts until the last rank begins; what the others wait is caused by that
--   one. By chance a rank is last in one of n operations of n ranks: a straggler is so in 10
--   operations and more, 3 standard deviations above that, and in the middle one of these comes
--   later than clocks may be wrong (rank_clock).
-- needs: _collective_wait, rank_clock
-- requires:
--   collective: no communication kernels were recorded.
--   _collective_wait: no operation is known to be in the trace of all its ranks; reason in
--     collective_bandwidth says why.
-- materialized: Few rows, of all operations of all ranks.
-- limits: As _collective_wait.
-- front: How long does each rank wait in collectives, and which one do they wait for?
-- first: rank, operations, wait_ns, wait_pct, transfer_ns, caused_ns, last_pct, is_straggler
-- chart: bars(rank, wait_ns)
-- example: cupti-etl query collective_wait TRACE
-- gathered: collective, _nccl_kernel
-- columns:
--   rank INTEGER: The rank; NULL of processes that have none.
--   gpu BIGINT: Number of the GPU, as in gpu; of a rank with several, the least.
--   operations BIGINT [operations]: Operations that all their ranks have.
--   total_ns BIGINT [ns]: Sum of their times on the rank.
--   wait_ns BIGINT [ns]: Of this, until the last rank began.
--   wait_pct DOUBLE [%]: wait_ns as a share of total_ns.
--   transfer_ns BIGINT [ns]: The rest.
--   median_late_ns DOUBLE [ns]: Median of how much later than on the first rank its kernels
--     began.
--   median_call_late_ns DOUBLE [ns]: Median of how much later than the first rank its program
--     called NCCL; NULL if NCCL did not tell.
--   last BIGINT [operations]: Operations for which the others waited for it.
--   last_pct DOUBLE [%]: last as a share of operations.
--   sigma DOUBLE: Standard deviations of last above what chance gives.
--   median_margin_ns DOUBLE [ns]: Median of how long after the one before it began, where it was
--     the last.
--   clock_ns BIGINT [ns]: How wide the interval is in which the clock lies of a rank that it has
--     operations with, where it is widest; 0 if all are on one host, NULL if one is not known.
--   is_straggler BOOLEAN: Whether it makes the others wait more often than by chance, and clocks
--     cannot be the reason; NULL if that is not known of a clock.
--   caused_ns BIGINT [ns]: How long the others waited for it, summed over them.
--   matched_by VARCHAR: How operations were matched: nccl, pytorch, clock, or several of them.
WITH clock AS (
    SELECT process_id, ahead_high_ns - ahead_low_ns AS wide_ns, at_ns,
           -- What is not known of a drift is within 200 ppm.
           CASE WHEN known_by = 'host' THEN 0 ELSE coalesce(drift_high_ppm - drift_low_ppm, 400)
                END AS drift_wide_ppm
    FROM rank_clock
),
each AS (
    SELECT waits.*,
           -- On the first rank's host, clocks are one; elsewhere they drift from where they were.
           CASE WHEN count(clock.wide_ns) OVER (PARTITION BY operation)
                     = count(*) OVER (PARTITION BY operation)
                THEN max(clock.wide_ns + clock.drift_wide_ppm
                         * coalesce(abs(waits.end_ns - clock.at_ns), 0) / 1e6)
                         OVER (PARTITION BY operation) END AS clock_ns,
           CASE WHEN is_last
                THEN min(CASE WHEN NOT is_last THEN wait_ns END) OVER (PARTITION BY operation)
           END AS margin_ns
    FROM _collective_wait AS waits
    LEFT JOIN clock ON clock.process_id = waits.process_id
),
sums AS (
    SELECT rank, min(gpu) AS gpu, count(*) AS operations,
           TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
           TRY_CAST(sum(wait_ns) AS BIGINT) AS wait_ns,
           100.0 * sum(wait_ns) / nullif(sum(end_ns - start_ns), 0) AS wait_pct,
           TRY_CAST(sum(transfer_ns) AS BIGINT) AS transfer_ns,
           median(late_ns)::DOUBLE AS median_late_ns,
           median(call_late_ns)::DOUBLE AS median_call_late_ns,
           count(*) FILTER (WHERE is_last) AS last,
           100.0 * count(*) FILTER (WHERE is_last) / count(*) AS last_pct,
           (last - sum(1.0 / ranks)) / nullif(sqrt(sum((ranks - 1.0) / ranks ** 2)), 0) AS sigma,
           median(margin_ns)::DOUBLE AS median_margin_ns,
           CASE WHEN count(clock_ns) = count(*)
                THEN TRY_CAST(ceil(max(clock_ns)) AS BIGINT) END AS clock_ns,
           TRY_CAST(sum(caused_ns) AS BIGINT) AS caused_ns,
           string_agg(DISTINCT matched_by, ', ' ORDER BY matched_by) AS matched_by
    FROM each
    GROUP BY rank, CASE WHEN rank IS NULL THEN gpu END
)
SELECT rank, gpu, operations, total_ns, wait_ns, wait_pct, transfer_ns, median_late_ns,
       median_call_late_ns, last, last_pct, sigma, median_margin_ns, clock_ns,
       coalesce(operations >= 10 AND sigma > 3, false)
           AND (coalesce(median_margin_ns, 0) > 0 AND median_margin_ns > clock_ns) AS is_straggler,
       caused_ns, matched_by
FROM sums
ORDER BY caused_ns DESC, rank, gpu
