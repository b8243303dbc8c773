-- How long another rank waited for one that is late again and again.
--
-- computed: Of the ranks that wait for one of _late_rank, the one that waited most for it, as they
--   wait at the same time (_exposed_wait). Where clocks are not known, the mean of the others.
-- requires: _collective
-- finding: other ranks wait for one (measured)
-- advice: look at that rank's host, clocks and share of the data
-- shown: collective_wait
SELECT NULL::BIGINT AS gpu,
       TRY_CAST(coalesce(max(wait_ns), any_value(mean_ns)) AS BIGINT) AS saved_ns,
       concat('rank ', late.rank) AS culprit
FROM _late_rank AS late
LEFT JOIN (
    SELECT last_rank, process_id, sum(wait_ns) AS wait_ns
    FROM _exposed_wait
    WHERE NOT is_send
    GROUP BY last_rank, process_id
) AS waiting ON waiting.last_rank = late.rank
GROUP BY late.rank
