-- How much of one kind of work was hidden by another: compute, communication and copies in pairs.
--
-- computed: Lengths of unions per GPU; the overlap of two categories is the sum of their lengths
--   less the length of both together.
-- requires: gpu_activity
-- limits: A GPU without work of the first category has no row for it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   category VARCHAR: compute, communication or copy.
--   other VARCHAR: One of the other two.
--   category_ns BIGINT [ns]: Time with the category: a union.
--   overlap_ns BIGINT [ns]: Time with both.
--   overlap_pct DOUBLE [%]: overlap_ns as a share of category_ns.
WITH pairs AS (
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
       one.length_ns - together.length_ns + coalesce(two.length_ns, 0) AS overlap_ns,
       100.0 * (one.length_ns - together.length_ns + coalesce(two.length_ns, 0))
           / nullif(one.length_ns, 0) AS overlap_pct
FROM pairs
JOIN _work_length AS one ON one.work = pairs.category
JOIN _work_length AS together
    ON together.work = pairs.members
    AND together.gpu = one.gpu
LEFT JOIN _work_length AS two ON two.work = pairs.other AND two.gpu = one.gpu
ORDER BY one.gpu, pairs.category, pairs.other
