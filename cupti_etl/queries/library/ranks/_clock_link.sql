-- How far the clock of each process is ahead of that of one nearer to the first rank.
--
-- computed: Of the process that _clock_way names, by the line through the operations of both
--   (_clock_pair, _clock_line). Processes of one host have one clock.
-- requires: _collective
-- limits: As rank_clock.
-- scope: whole
-- columns:
--   process_id, rank, other_id of _clock_way
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the other's at at_ns; NULL if that is not
--     known.
--   ahead_low_ns BIGINT [ns]: It is this at least; NULL if that is not known, or if operations
--     contradict each other, as when a clock was set.
--   ahead_high_ns BIGINT [ns]: And this at most; likewise.
--   at_ns BIGINT [epoch ns]: The middle of the operations that were compared, by its clock; NULL on
--     the same host.
--   drift_ppm, drift_low_ppm, drift_high_ppm of _clock_line
--   agreeing BIGINT [operations]: Pairs that were compared, or that differ by this much; NULL on
--     the same host.
--   rival BIGINT [operations]: Most pairs that agree on another difference.
--   known_by VARCHAR: host, nccl, pytorch or clock, as in rank_clock; NULL if it is not known.
--   reason VARCHAR: Why it is not known; NULL if it is, and of the first. It is known if four pairs
--     and more agree, and more than twice as many as on any other difference, or, if the clocks
--     agree as they are, as many.
SELECT way.process_id, rank, other_id, CASE WHEN is_host THEN 0 ELSE ahead_ns END AS ahead_ns,
       CASE WHEN is_host THEN 0 ELSE ahead_low_ns END AS ahead_low_ns,
       CASE WHEN is_host THEN 0 ELSE ahead_high_ns END AS ahead_high_ns, at_ns,
       CASE WHEN is_host THEN 0 ELSE drift_ppm END AS drift_ppm,
       CASE WHEN is_host THEN 0 ELSE drift_low_ppm END AS drift_low_ppm,
       CASE WHEN is_host THEN 0 ELSE drift_high_ppm END AS drift_high_ppm,
       coalesce(line.agreeing, undecided.agreeing) AS agreeing,
       coalesce(line.rival, undecided.rival) AS rival,
       CASE WHEN is_host THEN 'host' ELSE line.known_by END AS known_by,
       CASE WHEN other_id IS NULL OR is_host OR line.process_id IS NOT NULL THEN NULL
            WHEN coalesce(undecided.agreeing, 0) < 4
            THEN 'too few operations agree on one difference of the clocks'
            ELSE 'several differences of the clocks agree about as well' END AS reason
FROM _clock_way AS way
LEFT JOIN _clock_line AS line ON line.process_id = way.process_id
LEFT JOIN (
    SELECT process_id, agreeing, rival FROM _clock_pair WHERE known_by IS NULL
) AS undecided ON undecided.process_id = way.process_id
