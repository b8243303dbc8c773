-- How much of one kind of work was hidden by another: compute, communication and copies in pairs.
--
-- computed: Lengths of unions per GPU; the overlap of two categories is the sum of their lengths
--   less the length of both together.
-- needs: gpu_interval
-- requires:
--   gpu_activity: no GPU activity was recorded.
-- limits: A GPU without work of the first category has no row for it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   category VARCHAR: compute, communication or copy.
--   other VARCHAR: One of the other two.
--   category_ns BIGINT [ns]: Time with the category: a union.
--   overlap_ns BIGINT [ns]: Time with both.
--   overlap_pct DOUBLE [%]: overlap_ns as a share of category_ns.
WITH
-- The work of a set that begins after every end so far leaves a gap: length is span less gaps.
until AS (
    SELECT gpu, category, start_ns, end_ns,
           max(CASE WHEN category = 'compute' THEN end_ns END) OVER before AS m,
           max(CASE WHEN category = 'communication' THEN end_ns END) OVER before AS n,
           max(CASE WHEN category = 'copy' THEN end_ns END) OVER before AS y
    FROM gpu_interval
    WINDOW before AS (
        PARTITION BY gpu ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
lengths AS (
    SELECT gpu, sets.members,
           max(end_ns) - min(start_ns) - coalesce(sum(greatest(start_ns - CASE sets.members
               WHEN 'compute' THEN m WHEN 'communication' THEN n WHEN 'copy' THEN y
               WHEN 'compute+communication' THEN greatest(m, n)
               WHEN 'compute+copy' THEN greatest(m, y)
               ELSE greatest(n, y) END, 0)), 0)::BIGINT AS length_ns
    FROM until
    JOIN (VALUES ('compute', 'compute'), ('communication', 'communication'), ('copy', 'copy'),
                 ('compute+communication', 'compute'), ('compute+communication', 'communication'),
                 ('compute+copy', 'compute'), ('compute+copy', 'copy'),
                 ('communication+copy', 'communication'), ('communication+copy', 'copy')
         ) AS sets(members, category) ON sets.category = until.category
    GROUP BY gpu, sets.members
),
pairs AS (
    SELECT * FROM (VALUES
        ('compute', 'communication', 'compute+communication'),
        ('compute', 'copy', 'compute+copy'),
        ('communication', 'compute', 'compute+communication'),
        ('communication', 'copy', 'communication+copy'),
        ('copy', 'compute', 'compute+copy'),
        ('copy', 'communication', 'communication+copy')
    ) AS pairs(category, other, members)
)
SELECT one.gpu, pairs.category, pairs.other, one.length_ns AS category_ns,
       one.length_ns + coalesce(two.length_ns, 0) - together.length_ns AS overlap_ns,
       100.0 * (one.length_ns + coalesce(two.length_ns, 0) - together.length_ns)
           / nullif(one.length_ns, 0) AS overlap_pct
FROM pairs
JOIN lengths AS one ON one.members = pairs.category
JOIN lengths AS together
    ON together.members = pairs.members
    AND together.gpu = one.gpu
LEFT JOIN lengths AS two ON two.members = pairs.other AND two.gpu = one.gpu
ORDER BY one.gpu, pairs.category, pairs.other
