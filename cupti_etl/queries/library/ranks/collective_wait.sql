-- What of each rank's time in collective operations is waiting for others, and for whom.
--
-- computed: Sums of _collective_wait over the operations of a rank. Waiting lasts until the last
--   rank begins; what the others wait is caused by that one.
-- needs: _collective_wait
-- requires:
--   collective: no communication kernels were recorded.
--   _collective_wait: no operation is known to be in the trace of all its ranks; reason in
--     collective_bandwidth says why.
-- limits: As _collective_wait.
-- front: How long does each rank wait in collectives, and which one do they wait for?
-- first: rank, operations, wait_ns, wait_pct, transfer_ns, caused_ns, last
-- chart: bars(rank, wait_ns)
-- example: cupti-etl query collective_wait TRACE
-- gathered: collective
-- columns:
--   rank INTEGER: The rank; NULL of processes that have none.
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
--   caused_ns BIGINT [ns]: How long the others waited for it, summed over them.
--   matched_by VARCHAR: How operations were matched: nccl, pytorch, clock, or several of them.
SELECT rank, count(*) AS operations, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(wait_ns) AS BIGINT) AS wait_ns,
       100.0 * sum(wait_ns) / nullif(sum(end_ns - start_ns), 0) AS wait_pct,
       TRY_CAST(sum(transfer_ns) AS BIGINT) AS transfer_ns,
       median(late_ns)::DOUBLE AS median_late_ns,
       median(call_late_ns)::DOUBLE AS median_call_late_ns,
       count(*) FILTER (WHERE is_last) AS last,
       100.0 * count(*) FILTER (WHERE is_last) / count(*) AS last_pct,
       TRY_CAST(sum(caused_ns) AS BIGINT) AS caused_ns,
       string_agg(DISTINCT matched_by, ', ' ORDER BY matched_by) AS matched_by
FROM _collective_wait
GROUP BY rank
ORDER BY caused_ns DESC, rank
