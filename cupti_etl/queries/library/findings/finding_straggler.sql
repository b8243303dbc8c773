-- How long another rank waited for one that is late again and again.
--
-- computed: For ranks that are persistently late (rank_stragglers), or, where no operation is of
--   all ranks, as with groups of them, the stragglers of collective_wait: of the others, the one
--   that waited most for it (sum of _collective_wait), as they wait at the same time. Where that is
--   not known of clocks, waiting_caused_ns of rank_stragglers by the number of the others.
-- needs: rank_stragglers, collective_wait, _collective_wait
-- requires:
--   collective: no communication kernels were recorded.
-- finding: other ranks wait for one (measured)
-- advice: look at that rank's host, clocks and share of the data
-- shown: collective_wait
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH late AS (
    SELECT rank, waiting_caused_ns // nullif((SELECT count(*) - 1 FROM rank_stragglers), 0)
               AS mean_ns
    FROM rank_stragglers
    WHERE is_persistent
    UNION ALL
    SELECT rank, NULL
    FROM collective_wait
    WHERE is_straggler AND rank IS NOT NULL AND NOT EXISTS (FROM rank_stragglers)
),
waiting AS (
    SELECT last.rank, mine.process_id, sum(mine.wait_ns) AS wait_ns
    FROM _collective_wait AS mine
    JOIN _collective_wait AS last ON last.operation = mine.operation AND last.is_last
    GROUP BY last.rank, mine.process_id
)
SELECT NULL::BIGINT AS gpu,
       TRY_CAST(coalesce(max(wait_ns), any_value(mean_ns)) AS BIGINT) AS saved_ns,
       concat('rank ', rank) AS culprit
FROM late
LEFT JOIN waiting USING (rank)
GROUP BY rank
