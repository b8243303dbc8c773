-- Offset and drift of the clock of each process to that of the one that it is compared with.
--
-- computed: Those of a line through the medians of 16 parts of the time of _clock_pair. Their
--   intervals are what cause and effect leave: no rank ends an operation before the other one has
--   begun it.
-- requires: _collective
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   at_ns BIGINT [epoch ns]: The middle of the operations that were compared, by its clock.
--   known_by VARCHAR: nccl, pytorch or clock, as in rank_clock.
--   agreeing BIGINT [operations]: As in _clock_pair.
--   rival BIGINT [operations]: As in _clock_pair.
--   ahead_low_ns BIGINT [ns]: How far its clock is ahead at least; NULL if operations contradict
--     each other, as when a clock was set.
--   ahead_high_ns BIGINT [ns]: And this at most; likewise.
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the other's at at_ns.
--   drift_ppm DOUBLE [ppm]: How much faster its clock runs, in microseconds a second; NULL if that
--     is not known within 200, as after a few operations.
--   drift_low_ppm DOUBLE [ppm]: It is this at least; NULL likewise.
--   drift_high_ppm DOUBLE [ppm]: And this at most; likewise.
WITH pairs AS (
    FROM _clock_pair WHERE known_by IS NOT NULL
),
middles AS (
    SELECT process_id, quantile_disc(end_ns - other_end_ns, 0.5) AS base_ns,
           min(end_ns) + (max(end_ns) - min(end_ns)) // 2 AS at_ns,
           string_agg(DISTINCT known_by, ', ' ORDER BY known_by) AS known_by,
           any_value(agreeing) AS agreeing, any_value(rival) AS rival
    FROM pairs
    GROUP BY process_id
),
-- Differences from the middle one, and seconds from the middle: small numbers. No rank ends before
-- the other begins: the clock is ahead by low_ns at least when its operation began, and by high_ns
-- at most when it ended.
placed AS (
    SELECT pairs.process_id, ends_together, (end_ns - at_ns) / 1e9 AS until_s,
           (start_ns - at_ns) / 1e9 AS from_s,
           (end_ns - other_end_ns - base_ns)::DOUBLE AS apart_ns,
           (start_ns - other_end_ns - base_ns)::DOUBLE AS low_ns,
           (end_ns - other_start_ns - base_ns)::DOUBLE AS high_ns,
           ntile(16) OVER (PARTITION BY pairs.process_id ORDER BY end_ns, other_end_ns) AS part
    FROM pairs
    JOIN middles USING (process_id)
),
lines AS (
    SELECT process_id, coalesce(regr_slope(apart_ns, until_s), 0) AS slope,
           coalesce(regr_intercept(apart_ns, until_s), 0) AS apart_ns
    FROM (SELECT process_id, median(until_s) AS until_s, median(apart_ns) AS apart_ns
          FROM placed GROUP BY process_id, part)
    GROUP BY process_id
),
-- Of each part, the operations that leave least.
closest AS (
    SELECT process_id, arg_max({'s': from_s, 'ns': low_ns}, low_ns - slope * from_s) AS low,
           arg_min({'s': until_s, 'ns': high_ns}, high_ns - slope * until_s) AS high
    FROM placed
    JOIN lines USING (process_id)
    WHERE ends_together
    GROUP BY process_id, part
),
-- At the middle a straight line is between what it is before and after.
around AS (
    SELECT before.process_id,
           max(CASE WHEN before.low.s <= 0 AND after.low.s >= 0
                    THEN before.low.ns + coalesce((after.low.ns - before.low.ns) * -before.low.s
                                                  / nullif(after.low.s - before.low.s, 0), 0)
               END) AS low_ns,
           min(CASE WHEN before.high.s <= 0 AND after.high.s >= 0
                    THEN before.high.ns + coalesce((after.high.ns - before.high.ns) * -before.high.s
                                                   / nullif(after.high.s - before.high.s, 0), 0)
               END) AS high_ns,
           max(CASE WHEN before.high.s < after.low.s
                    THEN (after.low.ns - before.high.ns) / (after.low.s - before.high.s) END)
               AS slope_low,
           min(CASE WHEN before.low.s < after.high.s
                    THEN (after.high.ns - before.low.ns) / (after.high.s - before.low.s) END)
               AS slope_high
    FROM closest AS before
    JOIN closest AS after USING (process_id)
    GROUP BY before.process_id
),
bounds AS (
    SELECT process_id, low_ns, high_ns, slope_low, slope_high,
           slope_low + 200000 >= slope_high AS is_drift_known
    FROM around
    WHERE low_ns <= high_ns AND slope_low <= slope_high
)
SELECT process_id, at_ns, known_by, agreeing, rival,
       base_ns + TRY_CAST(floor(low_ns) AS BIGINT) AS ahead_low_ns,
       base_ns + TRY_CAST(ceil(high_ns) AS BIGINT) AS ahead_high_ns,
       -- Neither is NULL where there are no bounds.
       base_ns + TRY_CAST(greatest(least(apart_ns, high_ns), low_ns) AS BIGINT) AS ahead_ns,
       CASE WHEN is_drift_known
            THEN greatest(least(slope, slope_high), slope_low) / 1000 END AS drift_ppm,
       CASE WHEN is_drift_known THEN slope_low / 1000 END AS drift_low_ppm,
       CASE WHEN is_drift_known THEN slope_high / 1000 END AS drift_high_ppm
FROM middles
JOIN lines USING (process_id)
LEFT JOIN bounds USING (process_id)
