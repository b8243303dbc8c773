-- The GPUs on which steps were found: what is compared of two runs.
--
-- computed: Steps of _sure_step by GPU. Steps that were found in different ways are not compared,
--   so the way is said; a GPU of several ranks is of none.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   source VARCHAR: nvtx or kernels; with commas between where processes differ.
--   rank INTEGER: Rank of the processes with these steps; NULL if none is known, or several are.
SELECT gpu, string_agg(DISTINCT source, ', ' ORDER BY source) AS source,
       CASE WHEN count(DISTINCT rank) = 1 THEN any_value(rank) END AS rank
FROM _sure_step
LEFT JOIN (SELECT process_id, any_value(rank) AS rank FROM process GROUP BY process_id)
    USING (process_id)
GROUP BY gpu
ORDER BY gpu
