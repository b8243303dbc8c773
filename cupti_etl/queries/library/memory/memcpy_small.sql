-- Runs of small copies that could be one: their number, and what each costs before a byte moves.
--
-- computed: From _small_copy. The fixed cost of a copy is the 10th percentile of the durations of
--   all its direction's small copies, an upper bound of what a copy of nothing would take. saved_ns
--   is that for every copy of a run but the first, and the time before it in which no kernel ran.
-- requires: memcpy
-- limits: Memsets between the copies are not seen.
-- parameters:
--   max_bytes BIGINT = 65536 [bytes]: Largest copy that is small.
-- columns:
--   copy_kind VARCHAR: Direction, such as HtoD.
--   copies BIGINT [copies]: Small copies.
--   small_pct DOUBLE [%]: Small copies as a share of all finished copies of the direction.
--   bytes BIGINT [bytes]: Bytes they copied.
--   total_ns BIGINT [ns]: Sum of their durations.
--   runs BIGINT [runs]: Runs of two or more.
--   in_runs BIGINT [copies]: Copies in them.
--   longest_run BIGINT [copies]: Copies of the longest.
--   fixed_ns DOUBLE [ns]: Fixed cost of a copy.
--   fixed_pct DOUBLE [%]: fixed_ns times copies as a share of total_ns.
--   before_ns BIGINT [ns]: Between the copies of runs, without kernels that ran then.
--   saved_ns BIGINT [ns]: Time saved if each run were one copy.
WITH small AS (
    FROM _small_copy(max_bytes := max_bytes)
),
runs AS (
    SELECT copy_kind, count(*) AS n
    FROM small
    GROUP BY copy_kind, process_id, device_id, context_id, stream_id, run
    HAVING count(*) >= 2
),
run_sums AS (
    SELECT copy_kind, count(*) AS runs, TRY_CAST(sum(n) AS BIGINT) AS in_runs, max(n) AS longest_run
    FROM runs
    GROUP BY copy_kind
),
sums AS (
    SELECT copy_kind, count(*) AS copies, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
           TRY_CAST(sum(duration_ns) AS BIGINT) AS total_ns,
           quantile_cont(duration_ns, 0.1) AS fixed_ns,
           TRY_CAST(sum(before_ns) AS BIGINT) AS before_ns
    FROM small
    GROUP BY copy_kind
),
everything AS (
    SELECT copy_kind, count(*) AS copies
    FROM memcpy
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY copy_kind
)
SELECT sums.copy_kind, sums.copies, 100.0 * sums.copies / everything.copies AS small_pct,
       bytes, total_ns, coalesce(runs, 0) AS runs, coalesce(in_runs, 0) AS in_runs,
       coalesce(longest_run, 0) AS longest_run, fixed_ns,
       100.0 * fixed_ns * sums.copies / nullif(total_ns, 0) AS fixed_pct,
       before_ns,
       TRY_CAST(coalesce((in_runs - runs) * fixed_ns, 0) + before_ns AS BIGINT) AS saved_ns
FROM sums
JOIN everything ON everything.copy_kind = sums.copy_kind
LEFT JOIN run_sums ON run_sums.copy_kind = sums.copy_kind
ORDER BY saved_ns DESC, sums.copy_kind
