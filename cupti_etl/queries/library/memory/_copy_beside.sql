-- How long copies ran beside kernels, by their kinds.
--
-- computed: Of the time of the finished copies of a kind, what lies within _busy_interval of
--   compute and communication on the same GPU: up to their ends, less that up to their starts.
-- lookup: _busy_interval
-- columns:
--   gpu, copy_kind, src_kind, dst_kind, class of _copy
--   beside_ns HUGEINT [ns]: Of their time, that with a kernel on the same GPU.
WITH kernels AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns - start_ns AS before_ns
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
),
finished AS (
    SELECT gpu, copy_kind, src_kind, dst_kind, class, start_ns, end_ns FROM _copy WHERE ns > 0
),
-- All edges are sorted with what they are of, for which a number takes least.
kinds AS (
    SELECT row_number() OVER () AS kind, *
    FROM (SELECT DISTINCT gpu, copy_kind, src_kind, dst_kind, class FROM finished)
),
numbered AS (
    SELECT copies.gpu, kind, start_ns, end_ns
    FROM finished AS copies
    JOIN kinds
        ON kinds.gpu = copies.gpu
        AND kinds.copy_kind IS NOT DISTINCT FROM copies.copy_kind
        AND kinds.src_kind IS NOT DISTINCT FROM copies.src_kind
        AND kinds.dst_kind IS NOT DISTINCT FROM copies.dst_kind
        AND kinds.class IS NOT DISTINCT FROM copies.class
),
edges AS (
    SELECT gpu, kind, start_ns AS at_ns, -1 AS sign FROM numbered
    UNION ALL
    SELECT gpu, kind, end_ns, 1 FROM numbered
),
sums AS (
    SELECT kind, sum(sign * (before_ns + least(at_ns, end_ns))) AS beside_ns
    FROM edges
    ASOF JOIN kernels ON kernels.gpu = edges.gpu AND kernels.start_ns <= edges.at_ns
    GROUP BY kind
)
SELECT gpu, copy_kind, src_kind, dst_kind, class, beside_ns
FROM sums
JOIN kinds USING (kind)
