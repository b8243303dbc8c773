-- Ranks that are late again and again, and not by chance.
--
-- computed: Those that are persistently late (rank_stragglers), or, where no operation is of all
--   ranks, as with groups of them, the stragglers of collective_wait.
-- columns:
--   rank INTEGER: The rank.
--   mean_ns BIGINT [ns]: Waiting that it caused, by the number of the others; NULL in groups.
SELECT rank, waiting_caused_ns // nullif((SELECT count(*) - 1 FROM rank_stragglers), 0) AS mean_ns
FROM rank_stragglers
WHERE is_persistent
UNION ALL
SELECT rank, NULL
FROM collective_wait
WHERE is_straggler AND rank IS NOT NULL AND NOT EXISTS (FROM rank_stragglers)
