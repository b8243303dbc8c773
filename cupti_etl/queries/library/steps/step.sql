-- Steps of a training or inference loop on each GPU: from NVTX, or found from the kernels.
--
-- computed: Of a process with NVTX ranges called step, iteration, batch or alike, those whose name
--   without digits took most time on the host; a step is on the GPU from the first activity that
--   it asked for to that of the next step. Of others, the rarest kernel that came at least 5 times
--   at regular distances (3 of 4 within a quarter of their median, covering half of the trace),
--   with about as many kernels each time (3 of 4 within a tenth of the median, 3 or more): a step
--   is from one to the next.
-- needs: nvtx_range, range_gpu, gpu_interval
-- stored: Made once for an opened trace, as it is searched in all kernels.
-- limits: With kernels, what came before the first and after the last of them is in no step. Where
--   no period is found there is no row.
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   step BIGINT: Number of the step in its process and GPU, from 0.
--   source VARCHAR: nvtx or kernels.
--   name VARCHAR: Name of the range, or mangled name of the kernel that a step begins with.
--   start_ns BIGINT [ns]: When it began on the GPU.
--   end_ns BIGINT [ns]: When it ended there.
WITH named AS (
    SELECT process_id, range_id, name, end_ns - start_ns AS host_ns,
           regexp_replace(name, '[0-9]+', '', 'g') AS stem
    FROM nvtx_range
    WHERE regexp_matches(
        name, '(?i)(^|[^a-z]|profiler)(step|iter|iteration|batch|epoch)s?([^a-z]|$)'
    )
),
stems AS (
    SELECT process_id, stem
    FROM named
    GROUP BY process_id, stem
    HAVING count(*) >= 2
    QUALIFY row_number() OVER (PARTITION BY process_id ORDER BY sum(host_ns) DESC, stem) = 1
),
marked AS (
    SELECT named.process_id, work.gpu, named.name, work.start_ns, work.end_ns
    FROM named
    JOIN stems ON stems.process_id = named.process_id AND stems.stem = named.stem
    JOIN range_gpu AS work ON work.range_id = named.range_id
),
kernels AS (
    SELECT process_id, gpu, name, start_ns
    FROM gpu_interval
    WHERE kind = 'kernel' AND process_id NOT IN (SELECT process_id FROM marked)
),
spans AS (
    SELECT process_id, gpu, max(start_ns) - min(start_ns) AS span_ns
    FROM kernels
    GROUP BY process_id, gpu
),
-- The rarest names are tried first: a name that comes twice a step would halve it.
rare AS (
    SELECT process_id, gpu, name, count(*) AS n
    FROM kernels
    GROUP BY process_id, gpu, name
    HAVING count(*) >= 5
    QUALIFY row_number() OVER (
        PARTITION BY process_id, gpu ORDER BY count(*), min(start_ns), name
    ) <= 8
),
distances AS (
    SELECT process_id, gpu, name, start_ns,
           lead(start_ns) OVER (PARTITION BY process_id, gpu, name ORDER BY start_ns) - start_ns
               AS distance_ns
    FROM kernels
    SEMI JOIN rare USING (process_id, gpu, name)
),
medians AS (
    SELECT process_id, gpu, name, median(distance_ns) AS median_ns
    FROM distances
    GROUP BY process_id, gpu, name
),
anchors AS (
    SELECT distances.process_id, distances.gpu, distances.name
    FROM distances
    JOIN medians USING (process_id, gpu, name)
    JOIN spans ON spans.process_id = distances.process_id AND spans.gpu = distances.gpu
    GROUP BY distances.process_id, distances.gpu, distances.name
    HAVING avg(CASE WHEN abs(distance_ns - median_ns) <= median_ns / 4 THEN 1.0
                    WHEN distance_ns IS NOT NULL THEN 0.0 END) >= 0.75
        AND sum(distance_ns) >= any_value(span_ns) / 2
    QUALIFY row_number() OVER (
        PARTITION BY distances.process_id, distances.gpu
        ORDER BY count(*), min(start_ns), distances.name
    ) = 1
),
begun AS (
    SELECT process_id, gpu, name, start_ns, start_ns + distance_ns AS end_ns
    FROM distances
    SEMI JOIN anchors USING (process_id, gpu, name)
),
counted AS (
    SELECT begun.process_id, begun.gpu, begun.start_ns, count(*) AS kernels
    FROM kernels
    ASOF JOIN begun
        ON begun.process_id = kernels.process_id
        AND begun.gpu = kernels.gpu
        AND begun.start_ns <= kernels.start_ns
    WHERE begun.end_ns IS NOT NULL
    GROUP BY begun.process_id, begun.gpu, begun.start_ns
),
regular AS (
    SELECT process_id, gpu
    FROM (
        SELECT process_id, gpu, kernels,
               median(kernels) OVER (PARTITION BY process_id, gpu) AS median_kernels
        FROM counted
    )
    GROUP BY process_id, gpu
    HAVING avg(CASE WHEN abs(kernels - median_kernels) <= median_kernels / 10 THEN 1.0
                    ELSE 0.0 END) >= 0.75
        AND any_value(median_kernels) >= 3
),
found AS (
    SELECT process_id, gpu, 'nvtx' AS source, name, start_ns,
           coalesce(lead(start_ns) OVER (PARTITION BY process_id, gpu ORDER BY start_ns), end_ns)
               AS end_ns
    FROM marked
    UNION ALL
    SELECT process_id, gpu, 'kernels', name, start_ns, end_ns
    FROM begun
    SEMI JOIN regular USING (process_id, gpu)
    WHERE end_ns IS NOT NULL
)
SELECT process_id, gpu,
       row_number() OVER (PARTITION BY process_id, gpu ORDER BY start_ns) - 1 AS step,
       source, name, start_ns, end_ns
FROM found
