-- How long each GPU did anything between two times.
--
-- computed: The union of all finished activities of a GPU, cut at both times.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: The first; NULL for before everything.
--   to_ns BIGINT = NULL [epoch ns]: The second; NULL for after everything.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   busy_ns BIGINT [ns]: Time with at least one activity.
WITH cut AS (
    SELECT gpu, greatest(start_ns, from_ns) AS start_ns, least(end_ns, to_ns) AS end_ns
    FROM gpu_interval
    WHERE (from_ns IS NULL OR end_ns > from_ns) AND (to_ns IS NULL OR start_ns < to_ns)
),
-- What each adds to the union of those that began before it.
added AS (
    SELECT gpu, greatest(0, end_ns - greatest(start_ns, coalesce(max(end_ns) OVER (
               PARTITION BY gpu ORDER BY start_ns, end_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), start_ns))) AS busy_ns
    FROM cut
)
SELECT gpu, TRY_CAST(sum(busy_ns) AS BIGINT) AS busy_ns
FROM added
GROUP BY gpu
