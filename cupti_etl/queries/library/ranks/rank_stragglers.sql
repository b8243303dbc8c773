-- Which ranks come late to collective operations, and whether that is chance.
--
-- computed: Operations are matched over ranks by _collective_match. They end together, so the
--   clocks of ranks are aligned by the median of the differences of their ends from the operation's
--   mean, after the drift that rank_clock knows of is taken out. Lateness is the aligned start less
--   the first of the operation's. Who is last by chance is last in one of n operations: above 3
--   standard deviations of that binomial, with 10 operations or more, it is persistent. The
--   score is the least mean time of its own work (from the end of
--   one operation to the start of the next) of any rank over that of the rank.
-- requires: _collective
--   _shared_collective: no operation that ends together is known to be in the traces of all ranks,
--     or processes have no rank (ask the traces of all ranks together; collective_wait tells of
--     groups, and of GPUs without a rank).
-- materialized: Few rows, of all operations of all ranks.
-- limits: Only processes with a rank, and operations that all of them have. Broadcasts and sends
--   do not end together; they are left out.
-- front: Which rank makes the others wait?
-- first: rank, waiting_caused_ns, last_pct, mean_late_ns, is_persistent, own_ns
-- chart: bars(rank, waiting_caused_ns)
-- alias: get_potential_stragglers
-- gathered: _collective, _nccl_kernel
-- columns:
--   rank INTEGER: The rank.
--   operations BIGINT [operations]: Operations that all ranks have.
--   mean_late_ns DOUBLE [ns]: Mean lateness.
--   max_late_ns DOUBLE [ns]: Largest.
--   last BIGINT [operations]: Operations to which it came last.
--   last_pct DOUBLE [%]: last as a share of operations.
--   sigma DOUBLE: Standard deviations of last above what chance gives.
--   is_persistent BOOLEAN: Whether it is last more often than chance allows.
--   own_ns DOUBLE [ns]: Mean time between operations.
--   score DOUBLE: Mean time of the fastest rank over its own: 1 for the fastest.
--   waiting_caused_ns BIGINT [ns]: Time that the other ranks waited for it, summed over them.
--   clock_offset_ns DOUBLE [ns]: How far its clock was ahead of the mean.
WITH clocks AS (
    SELECT rank, any_value(drift_ppm) AS drift_ppm, any_value(at_ns) AS at_ns
    FROM rank_clock
    GROUP BY rank
),
steady AS (
    SELECT shared.rank, operation, n,
           coalesce(TRY_CAST(drift_ppm * (end_ns - at_ns) / 1e6 AS BIGINT), 0) AS gained_ns,
           start_ns - gained_ns AS start_ns, end_ns - gained_ns AS end_ns
    FROM _shared_collective AS shared
    LEFT JOIN clocks ON clocks.rank = shared.rank
),
complete AS (
    SELECT *, avg(end_ns - base_ns) OVER (PARTITION BY operation) AS mean_end_ns
    FROM steady, (SELECT min(start_ns) AS base_ns FROM steady)
),
offsets AS (
    SELECT rank, median(end_ns - base_ns - mean_end_ns) AS offset_ns FROM complete GROUP BY rank
),
aligned AS (
    SELECT complete.rank, operation, n, start_ns - base_ns - offset_ns AS start_ns,
           end_ns - base_ns - offset_ns AS end_ns, offset_ns
    FROM complete
    JOIN offsets ON offsets.rank = complete.rank
),
late AS (
    SELECT *, start_ns - min(start_ns) OVER operation AS late_ns,
           late_ns > 0 AND row_number() OVER (
               PARTITION BY operation ORDER BY start_ns DESC, rank
           ) = 1 AS is_last,
           sum(max_start_ns - start_ns) OVER operation AS waited_ns,
           start_ns - lag(end_ns) OVER (PARTITION BY rank ORDER BY start_ns, end_ns) AS own_ns
    FROM (SELECT *, max(start_ns) OVER operation AS max_start_ns
          FROM aligned WINDOW operation AS (PARTITION BY operation))
    WINDOW operation AS (PARTITION BY operation)
),
sums AS (
    SELECT rank, count(*) AS operations, avg(late_ns) AS mean_late_ns, max(late_ns) AS max_late_ns,
           count(*) FILTER (WHERE is_last) AS last, any_value(n) AS n,
           -- Nothing comes before the first, and greatest(NULL, 0) is 0.
           avg(greatest(own_ns, 0)) FILTER (WHERE own_ns IS NOT NULL) AS own_ns,
           TRY_CAST(coalesce(sum(waited_ns) FILTER (WHERE is_last), 0) AS BIGINT)
               AS waiting_caused_ns,
           any_value(offset_ns) AS clock_offset_ns
    FROM late
    GROUP BY rank
)
SELECT rank, operations, mean_late_ns, max_late_ns, last, 100.0 * last / operations AS last_pct,
       (last - operations / n) / sqrt(operations * (1.0 / n) * (1 - 1.0 / n)) AS sigma,
       operations >= 10 AND sigma > 3 AS is_persistent,
       own_ns, min(own_ns) OVER () / nullif(own_ns, 0) AS score, waiting_caused_ns, clock_offset_ns
FROM sums
ORDER BY waiting_caused_ns DESC, mean_late_ns DESC, rank
