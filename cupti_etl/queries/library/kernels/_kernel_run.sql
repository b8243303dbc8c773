-- Runs of two to five kernels that follow one another in a stream, counted.
--
-- computed: Every run of neighbours in a stream, counted by their names; runs overlap, so their
--   times must not be added. The gaps are those between the kernels of a run.
-- materialized: Made once for an opened trace, in one sweep.
-- limits: Copies and memsets between kernels are not seen.
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
WITH kernels AS (
    SELECT process_id, device_id, context_id, stream_id, name, start_ns, end_ns,
           end_ns - start_ns AS ns,
           greatest(lead(start_ns) OVER stream - end_ns, 0) AS gap_ns
    FROM kernel
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL AND name IS NOT NULL
    WINDOW stream AS (
        PARTITION BY process_id, device_id, context_id, stream_id ORDER BY start_ns, end_ns
    )
),
-- Each kernel, and the four that follow it.
stretches AS (
    SELECT list(name) OVER stretch AS names, list(ns) OVER stretch AS kernels_ns,
           list(gap_ns) OVER stretch AS gaps_ns
    FROM kernels
    WINDOW stretch AS (
        PARTITION BY process_id, device_id, context_id, stream_id ORDER BY start_ns, end_ns
        ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING
    )
),
runs AS (
    SELECT kernels, names[:kernels] AS names, list_sum(kernels_ns[:kernels]) AS kernels_ns,
           list_sum(gaps_ns[:kernels - 1]) AS gaps_ns
    FROM stretches, (SELECT unnest([2, 3, 4, 5])::BIGINT AS kernels)
    WHERE len(names) >= kernels
)
SELECT kernels, names[1] AS first, names[2] AS second, names[3] AS third, names[4] AS fourth,
       names[5] AS fifth, count(*) AS count, TRY_CAST(sum(kernels_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(gaps_ns) AS BIGINT) AS gap_ns
FROM runs
GROUP BY kernels, names
