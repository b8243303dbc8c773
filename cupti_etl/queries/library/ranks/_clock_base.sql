-- The clock of each process, put on that of a base: the first one that it can be compared with.
--
-- computed: Offsets, and the intervals of both offset and drift, are those of _clock_link, added up
--   along the way from the base. A drift on it that is not known is within 200 ppm.
-- requires: _collective
-- materialized: Few rows, of all operations of all ranks.
-- limits: As rank_clock.
-- scope: whole
-- columns:
--   process_id, rank of _clock_link
--   base_id BIGINT: The process with the base; its own if it is compared with none, or if it is not
--     known how its clock differs.
--   other_id BIGINT: The process that it was compared with; NULL of the first.
--   way BIGINT[]: Processes from the base on, each compared with the one before, or with another of
--     its host; the last has the clock of this one.
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the base at at_ns.
--   ahead_low_ns BIGINT [ns]: It is this at least; NULL if operations contradict each other.
--   ahead_high_ns BIGINT [ns]: And this at most; likewise.
--   at_ns BIGINT [epoch ns]: When, by its clock; NULL if it is that of the base.
--   drift_ppm DOUBLE [ppm]: How much faster its clock runs, in microseconds a second; NULL if that
--     is not known within 200.
--   drift_low_ppm, drift_high_ppm of _clock_link
--   agreeing BIGINT [operations]: As in _clock_link.
--   rival BIGINT [operations]: As in _clock_link.
--   known_by VARCHAR: host, nccl, pytorch or clock, or several along the way.
--   reason VARCHAR: Why the base is not compared with the first rank; NULL if it is that one.
WITH RECURSIVE links AS MATERIALIZED (
    FROM _clock_link
),
clocks AS (
    SELECT process_id, process_id AS base_id, 0::BIGINT AS ahead_ns, 0::BIGINT AS ahead_low_ns,
           0::BIGINT AS ahead_high_ns, NULL::BIGINT AS at_ns, 0::DOUBLE AS drift_ppm,
           0::DOUBLE AS drift_low_ppm, 0::DOUBLE AS drift_high_ppm, []::VARCHAR[] AS known_by,
           [process_id] AS way
    FROM links
    WHERE known_by IS NULL
    UNION ALL
    SELECT links.process_id, base_id,
           links.ahead_ns + clocks.ahead_ns
               + TRY_CAST(coalesce(clocks.drift_ppm, 0) * later_s * 1000 AS BIGINT),
           links.ahead_low_ns + clocks.ahead_low_ns
               + TRY_CAST(floor(1000 * least(coalesce(clocks.drift_low_ppm, -200) * later_s,
                                             coalesce(clocks.drift_high_ppm, 200) * later_s))
                          AS BIGINT),
           links.ahead_high_ns + clocks.ahead_high_ns
               + TRY_CAST(ceil(1000 * greatest(coalesce(clocks.drift_low_ppm, -200) * later_s,
                                               coalesce(clocks.drift_high_ppm, 200) * later_s))
                          AS BIGINT),
           coalesce(links.at_ns, clocks.at_ns),
           links.drift_ppm + clocks.drift_ppm * (1 - links.drift_ppm / 1e6),
           links.drift_low_ppm + clocks.drift_low_ppm * (1 - links.drift_low_ppm / 1e6),
           links.drift_high_ppm + clocks.drift_high_ppm * (1 - links.drift_high_ppm / 1e6),
           list_append(clocks.known_by, links.known_by),
           CASE WHEN links.known_by = 'host' THEN way ELSE list_append(way, links.process_id) END
    FROM clocks
    JOIN links ON links.other_id = clocks.process_id AND links.known_by IS NOT NULL,
    -- From the middle of the operations of one comparison to that of the next one.
    LATERAL (SELECT coalesce((links.at_ns - links.ahead_ns - clocks.at_ns) / 1e9, 0) AS later_s)
),
within AS (
    SELECT *, drift_high_ppm - drift_low_ppm <= 200 AS is_drift_known FROM clocks
)
SELECT within.process_id, links.rank, base_id, links.other_id, way, within.ahead_ns,
       within.ahead_low_ns, within.ahead_high_ns, within.at_ns,
       CASE WHEN is_drift_known THEN within.drift_ppm END AS drift_ppm,
       CASE WHEN is_drift_known THEN within.drift_low_ppm END AS drift_low_ppm,
       CASE WHEN is_drift_known THEN within.drift_high_ppm END AS drift_high_ppm,
       links.agreeing, links.rival,
       coalesce(nullif(list_aggregate(list_sort(list_distinct(within.known_by)), 'string_agg',
                                      ', '), ''), 'host') AS known_by,
       base.reason
FROM within
JOIN links ON links.process_id = within.process_id
JOIN links AS base ON base.process_id = base_id
