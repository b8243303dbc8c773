-- How long each GPU was busy with a set of work: of compute, communication and copies one, two or
-- all.
--
-- computed: Lengths of unions. The work of a set that begins after every end so far leaves a gap:
--   the length is the span less the gaps.
-- materialized: Made with _busy_interval, in one sweep.
-- limits: A GPU without any work of a set has no row for it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   work VARCHAR: The set: its categories with + between, such as compute+copy.
--   length_ns BIGINT [ns]: Length of the union.
WITH until AS (
    SELECT gpu, category, start_ns, end_ns,
           max(CASE WHEN category = 'compute' THEN end_ns END) OVER before AS m,
           max(CASE WHEN category = 'communication' THEN end_ns END) OVER before AS n,
           max(CASE WHEN category = 'copy' THEN end_ns END) OVER before AS y
    FROM gpu_interval
    WINDOW before AS (
        PARTITION BY gpu ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT gpu, sets.work,
       max(end_ns) - min(start_ns) - TRY_CAST(coalesce(sum(greatest(start_ns - CASE sets.work
           WHEN 'compute' THEN m WHEN 'communication' THEN n WHEN 'copy' THEN y
           WHEN 'compute+communication' THEN greatest(m, n)
           WHEN 'compute+copy' THEN greatest(m, y)
           WHEN 'communication+copy' THEN greatest(n, y)
           ELSE greatest(m, n, y) END, 0)), 0) AS BIGINT) AS length_ns
FROM until
JOIN (VALUES ('compute', 'compute'), ('communication', 'communication'), ('copy', 'copy'),
             ('compute+communication', 'compute'), ('compute+communication', 'communication'),
             ('compute+copy', 'compute'), ('compute+copy', 'copy'),
             ('communication+copy', 'communication'), ('communication+copy', 'copy'),
             ('compute+communication+copy', 'compute'),
             ('compute+communication+copy', 'communication'),
             ('compute+communication+copy', 'copy')
     ) AS sets(work, category) ON sets.category = until.category
GROUP BY gpu, sets.work
