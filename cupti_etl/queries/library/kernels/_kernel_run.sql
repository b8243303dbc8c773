-- Runs of two to five kernels that follow one another in a stream, counted.
--
-- computed: Every run of neighbours in a stream, counted by their names; runs overlap, so their
--   times must not be added. The gaps are those between the kernels of a run.
-- needs: kernel
-- materialized: Made once for an opened trace, in one sweep.
-- limits: Copies and sets between kernels are not seen.
-- columns:
--   kernels BIGINT [kernels]: Kernels in the run, 2 to 5.
--   first VARCHAR: Mangled name of the first.
--   second VARCHAR: Mangled name of the second.
--   third VARCHAR: Mangled name of the third; NULL in a shorter run.
--   fourth VARCHAR: Mangled name of the fourth; NULL in a shorter run.
--   fifth VARCHAR: Mangled name of the fifth; NULL in a shorter run.
--   count BIGINT [runs]: How often it came.
--   total_ns BIGINT [ns]: Sum of the durations of its kernels.
--   gap_ns BIGINT [ns]: Sum of the times between them, in which the stream had nothing.
WITH runs AS (
    SELECT name AS first, lead(name, 1) OVER stream AS second, lead(name, 2) OVER stream AS third,
           lead(name, 3) OVER stream AS fourth, lead(name, 4) OVER stream AS fifth,
           sum(end_ns - start_ns) OVER (stream ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING)
               AS kernels_2_ns,
           sum(greatest(next_ns - end_ns, 0)) OVER (
               stream ROWS BETWEEN CURRENT ROW AND 0 FOLLOWING
           ) AS gaps_2_ns,
           sum(end_ns - start_ns) OVER (stream ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING)
               AS kernels_3_ns,
           sum(greatest(next_ns - end_ns, 0)) OVER (
               stream ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING
           ) AS gaps_3_ns,
           sum(end_ns - start_ns) OVER (stream ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING)
               AS kernels_4_ns,
           sum(greatest(next_ns - end_ns, 0)) OVER (
               stream ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING
           ) AS gaps_4_ns,
           sum(end_ns - start_ns) OVER (stream ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING)
               AS kernels_5_ns,
           sum(greatest(next_ns - end_ns, 0)) OVER (
               stream ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING
           ) AS gaps_5_ns
    FROM (
        SELECT name, process_id, context_id, stream_id, start_ns, end_ns,
               lead(start_ns) OVER (
                   PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, end_ns
               ) AS next_ns
        FROM kernel
        WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND name IS NOT NULL
    )
    WINDOW stream AS (PARTITION BY process_id, context_id, stream_id ORDER BY start_ns, end_ns)
)
SELECT 2::BIGINT AS kernels, first, second, NULL::VARCHAR AS third, NULL::VARCHAR AS fourth,
       NULL::VARCHAR AS fifth, count(*) AS count,
       TRY_CAST(sum(kernels_2_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(gaps_2_ns) AS BIGINT) AS gap_ns
FROM runs
WHERE second IS NOT NULL
GROUP BY first, second
UNION ALL
SELECT 3 AS kernels, first, second, third, NULL, NULL, count(*) AS count,
       TRY_CAST(sum(kernels_3_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(gaps_3_ns) AS BIGINT) AS gap_ns
FROM runs
WHERE third IS NOT NULL
GROUP BY first, second, third
UNION ALL
SELECT 4 AS kernels, first, second, third, fourth, NULL, count(*) AS count,
       TRY_CAST(sum(kernels_4_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(gaps_4_ns) AS BIGINT) AS gap_ns
FROM runs
WHERE fourth IS NOT NULL
GROUP BY first, second, third, fourth
UNION ALL
SELECT 5 AS kernels, first, second, third, fourth, fifth, count(*) AS count,
       TRY_CAST(sum(kernels_5_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(gaps_5_ns) AS BIGINT) AS gap_ns
FROM runs
WHERE fifth IS NOT NULL
GROUP BY first, second, third, fourth, fifth
