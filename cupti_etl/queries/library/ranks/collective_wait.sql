-- What of each rank's time in collective operations is waiting for others, and for whom.
--
-- computed: Sums of _collective_wait over the operations of a rank, or of a GPU of processes
--   without one. Waiting lasts until the last rank begins; what the others wait is caused by that
--   one. By chance a rank is last in one of n operations of n ranks: a straggler is so in 10
--   operations and more, 3 standard deviations above that, and in the middle one of these comes
--   later than clocks may be wrong (_clock_base).
-- requires: _collective
--   _collective_wait: no operation is known to be in the trace of all its ranks (ask the traces of
--     all ranks together; where that was done, reason in collective_bandwidth says why).
-- materialized: Few rows, of all operations of all ranks.
-- limits: As _collective_wait.
-- front: How long does each rank wait in collectives, and which one do they wait for?
-- first: rank, operations, wait_ns, wait_pct, transfer_ns, caused_ns, last_pct, is_straggler
-- chart: bars(rank, wait_ns)
-- gathered: _collective, _nccl_kernel
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
--   clock_ns BIGINT [ns]: How wide the interval is in which the clocks lie of those that have an
--     operation, where it is widest; 0 if all are on one host, NULL if one is not known.
--   is_straggler BOOLEAN: Whether it makes the others wait more often than by chance, and clocks
--     cannot be the reason; NULL if that is not known of a clock.
--   caused_ns BIGINT [ns]: How long the others waited for it, summed over them.
--   matched_by VARCHAR: How operations were matched: nccl, pytorch, order, clock, or several.
WITH clocks AS (
    SELECT process_id, way, way[-1] AS clock_id, ahead_high_ns - ahead_low_ns AS wide_ns, at_ns,
           -- What is not known of a drift is within 200 ppm.
           coalesce(drift_high_ppm - drift_low_ppm, 400) AS drift_wide_ppm,
           dense_rank() OVER (ORDER BY way) AS place
    FROM _clock_base
),
spans AS (
    SELECT waits.*, clock_id, wide_ns, drift_wide_ppm, at_ns, min(place) OVER same AS low,
           max(place) OVER same AS high
    FROM _collective_wait AS waits
    JOIN clocks ON clocks.process_id = waits.process_id
    WINDOW same AS (PARTITION BY operation)
),
-- What the first and the last in the order of ways have in common, those between have, too: from
-- there on their clocks may differ.
forks AS (
    SELECT low, high, arg_max(clocks.process_id, len(clocks.way)) AS fork_id,
           max(clocks.wide_ns) AS common_ns
    FROM (SELECT DISTINCT low, high FROM spans) AS ends
    JOIN (SELECT DISTINCT place, way FROM clocks) AS lows ON lows.place = low
    JOIN (SELECT DISTINCT place, way FROM clocks) AS highs ON highs.place = high,
    LATERAL (SELECT unnest(list_intersect(lows.way, highs.way)) AS process_id) AS common
    JOIN clocks ON clocks.process_id = common.process_id
    GROUP BY low, high
),
each AS (
    SELECT spans.*,
           CASE WHEN count(wide_ns) OVER same = count(*) OVER same AND fork_id IS NOT NULL
                THEN max(CASE WHEN clock_id = fork_id THEN 0
                              ELSE wide_ns - common_ns + drift_wide_ppm
                                   * coalesce(abs(end_ns - at_ns), 0) / 1e6 END) OVER same
           END AS clock_ns,
           CASE WHEN is_last THEN min(CASE WHEN NOT is_last THEN wait_ns END) OVER same END
               AS margin_ns
    FROM spans
    LEFT JOIN forks ON forks.low = spans.low AND forks.high = spans.high
    WINDOW same AS (PARTITION BY operation)
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
           median(margin_ns - clock_ns) AS median_surplus_ns,
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
           AND CASE WHEN clock_ns IS NOT NULL THEN median_surplus_ns > 0 END AS is_straggler,
       caused_ns, matched_by
FROM sums
ORDER BY caused_ns DESC, rank, gpu
