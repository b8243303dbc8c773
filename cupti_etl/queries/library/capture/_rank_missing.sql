-- Jobs of which fewer ranks are in the trace than their launcher started.
--
-- computed: A job is what has one Slurm job and one world size. A rank that never wrote, or was not
--   captured, is nowhere but in the world size of the others.
-- scope: whole
-- columns:
--   world_size INTEGER [ranks]: Ranks that the launcher started.
--   ranks BIGINT [ranks]: Of these, those that are in the trace.
--   absent VARCHAR: The others, the first eight of them.
--   is_imported BOOLEAN: Whether another tool recorded them, which writes a file for each rank.
--   start_ns BIGINT [epoch ns]: When the first of those that are there began.
--   end_ns BIGINT [epoch ns]: When the last one ended.
WITH jobs AS (
    SELECT world_size, list(DISTINCT rank) AS there, bool_and(state = 'imported') AS is_imported,
           min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM process
    WHERE rank BETWEEN 0 AND world_size::BIGINT - 1
    GROUP BY slurm_job_id, world_size
),
others AS (
    -- Of so many numbers, more than eight are not there, however large the world.
    SELECT *, list_filter(range(least(world_size, len(there) + 9)),
                          lambda n: NOT list_contains(there, n)) AS absent
    FROM jobs
    WHERE len(there) < world_size
)
SELECT world_size, len(there) AS ranks,
       concat(array_to_string(absent[:8], ', '), CASE WHEN len(absent) > 8 THEN ' ...' END)
           AS absent,
       coalesce(is_imported, false) AS is_imported, start_ns, end_ns
FROM others
ORDER BY world_size, ranks, absent
