-- How far the clock of each process is ahead of the first rank's, as their collectives tell.
--
-- computed: Processes of one host have one clock. Others are compared with the first rank by the
--   operations that they have in common, or, if they are not in a group with it, with the next one
--   on the shortest way to it: differences along that way are added up, and so are their intervals
--   (_clock_link, _clock_base).
-- requires: _collective
-- limits: Without numbers, the first 5000 operations that each process has in common with the other
--   one, and of those the first 2500 of the other; operations at a perfectly even pace tell
--   nothing, nor do sends and receives among more than two processes. Intervals hold for clocks
--   that run evenly; they are as wide as the shortest operations last. Hosts of one name are taken
--   for one.
-- scope: whole
-- gathered: _collective
-- columns:
--   process_id, rank of _clock_base
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the first rank's at at_ns; NULL if that is
--     not known.
--   ahead_low_ns, ahead_high_ns, at_ns, drift_ppm, drift_low_ppm, drift_high_ppm, agreeing, rival
--     of _clock_link
--   known_by VARCHAR: host, nccl (its numbers), pytorch (its numbers) or clock, or several along
--     the way; NULL if it is not.
--   compared_rank INTEGER: Rank that it was compared with; NULL of the first, or if that has none.
--   reason VARCHAR: Why it is not known; NULL if it is. It is known if four pairs and more agree,
--     and more than twice as many as on any other difference, or, if the clocks agree as they are,
--     as many; and if that of the other one is.
WITH clocks AS (
    SELECT *, base_id = first_value(base_id) OVER (ORDER BY rank, process_id) AS is_known
    FROM _clock_base
)
SELECT clocks.process_id, clocks.rank,
       CASE WHEN is_known THEN COLUMNS('^(ahead|at|drift)_') END, agreeing, rival,
       CASE WHEN is_known THEN known_by END AS known_by, others.rank AS compared_rank, reason
FROM clocks
LEFT JOIN (SELECT process_id, rank FROM _clock_base) AS others
    ON others.process_id = clocks.other_id
ORDER BY clocks.rank, clocks.process_id
