-- How far the clock of each process is ahead of the first rank's, as their collectives tell.
--
-- computed: Processes of one host have one clock. Else, if four operations and more are numbered by
--   NCCL, or by PyTorch, on both, their ends are compared. Else the ends of operations of the same
--   kernel, group and, where it is known, size are compared with those of the first rank, whichever
--   each may be: the right pairs all differ by the same, so that at one difference more of 32
--   operations of the first rank find a partner than at any other. The same is what differs by less
--   than a 64th, a 16th or a quarter of the median time from one operation to the next: the least
--   that decides. Offset and drift are those of a line through the medians of 16 parts of the time.
--   Their intervals are what cause and effect leave: no rank ends an operation before the other one
--   has begun it.
-- needs: collective, process
-- requires:
--   collective: no communication kernels were recorded.
-- limits: Without numbers, the first 5000 operations of each process, and of those the first 2500
--   of the first rank; operations at a perfectly even pace tell nothing, nor do sends and receives
--   among more than two processes. Intervals hold for clocks
--   that run evenly; they are as wide as the shortest operations last. Hosts of one name are taken
--   for one.
-- scope: whole
-- gathered: collective
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank; NULL if it has none.
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the first rank's at at_ns; NULL if that is
--     not known.
--   ahead_low_ns BIGINT [ns]: It is this at least; NULL if that is not known, or if operations
--     contradict each other, as when a clock was set.
--   ahead_high_ns BIGINT [ns]: And this at most; likewise.
--   at_ns BIGINT [epoch ns]: The middle of the operations that were compared, by its clock; NULL on
--     the same host.
--   drift_ppm DOUBLE [ppm]: How much faster its clock runs, in microseconds a second; NULL if that
--     is not known within 200, as after a few operations.
--   drift_low_ppm DOUBLE [ppm]: It is this at least; NULL likewise.
--   drift_high_ppm DOUBLE [ppm]: And this at most; likewise.
--   agreeing BIGINT [operations]: Pairs that were compared, or that differ by this much; NULL on
--     the same host.
--   rival BIGINT [operations]: Most pairs that agree on another difference.
--   known_by VARCHAR: host, nccl (its numbers), pytorch (its numbers) or clock; NULL if it is not.
--   reason VARCHAR: Why it is not known; NULL if it is. It is known if four pairs and more agree,
--     and more than twice as many as on any other difference, or, if the clocks agree as they are,
--     as many.
WITH ends AS MATERIALIZED (
    SELECT process_id, rank, start_ns, end_ns, kind,
           collective IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AllToAll', 'Barrier')
               AS is_together,
           nccl_sequence IS NOT NULL AS is_nccl,
           CASE WHEN nccl_sequence IS NOT NULL THEN hash(communicator, collective, nccl_sequence)
                WHEN sequence IS NOT NULL THEN hash(kind, sequence) END AS number,
           -- What each rank sends may be its own.
           CASE WHEN collective NOT IN ('AllToAll', 'Gather', 'Scatter', 'SendRecv', 'other')
                THEN bytes END AS bytes,
           -- Of more than two, it is not known which two belong together.
           collective <> 'SendRecv' OR count(DISTINCT process_id) OVER (PARTITION BY kind) <= 2
               AS is_of_all,
           row_number() OVER (PARTITION BY process_id ORDER BY end_ns) AS place
    FROM collective
    QUALIFY gpu = min(gpu) OVER (PARTITION BY process_id)
),
hosts AS (
    SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id
),
ranks AS (
    SELECT *, row_number() OVER first = 1 AS is_first,
           row_number() OVER first = 1 OR coalesce(host = first_value(host) OVER first, false)
               AS is_same_host
    FROM (SELECT DISTINCT process_id, rank FROM ends)
    LEFT JOIN hosts USING (process_id)
    WINDOW first AS (ORDER BY rank, process_id)
),
numbered AS (
    SELECT ends.*, is_first
    FROM ends
    JOIN ranks ON ranks.process_id = ends.process_id AND (is_first OR NOT is_same_host)
    WHERE number IS NOT NULL AND is_together
    QUALIFY count(*) OVER (PARTITION BY ends.process_id, number) = 1
),
exact AS (
    SELECT mine.process_id, mine.start_ns, mine.end_ns, firsts.start_ns AS first_start_ns,
           firsts.end_ns AS first_end_ns, true AS is_together,
           CASE WHEN mine.is_nccl THEN 'nccl' ELSE 'pytorch' END AS known_by,
           count(*) OVER (PARTITION BY mine.process_id) AS agreeing
    FROM numbered AS mine
    JOIN numbered AS firsts ON firsts.number = mine.number AND firsts.is_first
    WHERE NOT mine.is_first
    QUALIFY agreeing >= 4
),
firsts AS (
    SELECT ends.*, ends.end_ns - lag(ends.end_ns) OVER (
               PARTITION BY kind ORDER BY ends.end_ns
           ) AS after_ns
    FROM ends
    JOIN ranks ON ranks.process_id = ends.process_id AND is_first
    WHERE place <= 2500 AND is_of_all
),
widths AS (
    SELECT TRY_CAST((median(after_ns) / share) AS BIGINT) AS width_ns
    FROM firsts, (VALUES (64), (16), (4)) AS shares(share)
    GROUP BY share
    HAVING width_ns > 0
),
probes AS (
    SELECT kind, bytes, start_ns, end_ns
    FROM firsts, (SELECT count(*) AS n FROM firsts)
    WHERE place % ceil(n / 32) = 0
),
pairs AS (
    SELECT ends.process_id, ends.start_ns, ends.end_ns, ends.is_together,
           probes.start_ns AS first_start_ns, probes.end_ns AS first_end_ns,
           ends.end_ns - probes.end_ns AS ahead_ns
    FROM (FROM ends ANTI JOIN exact USING (process_id)) AS ends
    JOIN ranks ON ranks.process_id = ends.process_id AND NOT is_same_host
    JOIN probes
        ON probes.kind = ends.kind
        AND (probes.bytes = ends.bytes) IS NOT FALSE
    WHERE place <= 5000
),
-- What lies within half a cell is in one cell of a grid, or of the one that is shifted by a half.
cells AS (
    SELECT process_id, width_ns,
           ahead_ns - ((ahead_ns + shift_ns) % width_ns + width_ns) % width_ns AS least_ns,
           count(*) AS agreeing
    FROM pairs, widths, LATERAL (SELECT unnest([0, width_ns // 2]) AS shift_ns)
    GROUP BY ALL
    HAVING count(*) > 1
),
best AS (
    SELECT process_id, width_ns, max(agreeing) AS agreeing,
           arg_max(least_ns, (agreeing, -abs(least_ns + width_ns // 2))) AS least_ns
    FROM cells
    GROUP BY process_id, width_ns
),
judged AS (
    SELECT process_id, width_ns, best.least_ns, best.agreeing, coalesce(max(cells.agreeing) FILTER (
               WHERE abs(cells.least_ns - best.least_ns) > 2 * width_ns
           ), 0) AS rival
    FROM best
    JOIN cells USING (process_id, width_ns)
    GROUP BY ALL
),
told AS (
    SELECT *, agreeing >= 4
               AND (agreeing > 2 * rival
                    OR agreeing >= rival AND least_ns BETWEEN -width_ns AND 0) AS is_known
    FROM judged
    QUALIFY row_number() OVER (
        PARTITION BY process_id
        ORDER BY is_known DESC, CASE WHEN is_known THEN width_ns END, agreeing / (rival + 1) DESC
    ) = 1
),
matched AS (
    FROM exact
    UNION ALL BY NAME
    SELECT process_id, start_ns, end_ns, first_start_ns, first_end_ns, is_together,
           'clock' AS known_by, agreeing
    FROM told
    JOIN pairs USING (process_id)
    WHERE is_known AND ahead_ns BETWEEN least_ns AND least_ns + width_ns
),
middles AS (
    SELECT process_id, quantile_disc(end_ns - first_end_ns, 0.5) AS base_ns,
           min(end_ns) + (max(end_ns) - min(end_ns)) // 2 AS at_ns,
           string_agg(DISTINCT known_by, ', ' ORDER BY known_by) AS known_by,
           any_value(agreeing) AS agreeing
    FROM matched
    GROUP BY process_id
),
-- Differences from the middle one, and seconds from the middle: small numbers. No rank ends before
-- the other begins: the clock is ahead by low_ns at least when its operation began, and by high_ns
-- at most when it ended.
placed AS (
    SELECT matched.process_id, is_together, (end_ns - at_ns) / 1e9 AS until_s,
           (start_ns - at_ns) / 1e9 AS from_s,
           (end_ns - first_end_ns - base_ns)::DOUBLE AS apart_ns,
           (start_ns - first_end_ns - base_ns)::DOUBLE AS low_ns,
           (end_ns - first_start_ns - base_ns)::DOUBLE AS high_ns,
           ntile(16) OVER (PARTITION BY matched.process_id ORDER BY end_ns, first_end_ns) AS part
    FROM matched
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
    WHERE is_together
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
),
found AS (
    SELECT process_id, at_ns, known_by, agreeing, base_ns + TRY_CAST(floor(low_ns) AS BIGINT)
               AS ahead_low_ns,
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
)
SELECT ranks.process_id, rank,
       CASE WHEN is_same_host THEN 0 ELSE ahead_ns END AS ahead_ns,
       CASE WHEN is_same_host THEN 0 ELSE ahead_low_ns END AS ahead_low_ns,
       CASE WHEN is_same_host THEN 0 ELSE ahead_high_ns END AS ahead_high_ns, at_ns,
       CASE WHEN is_same_host THEN 0 ELSE drift_ppm END AS drift_ppm,
       CASE WHEN is_same_host THEN 0 ELSE drift_low_ppm END AS drift_low_ppm,
       CASE WHEN is_same_host THEN 0 ELSE drift_high_ppm END AS drift_high_ppm,
       coalesce(found.agreeing, told.agreeing) AS agreeing,
       CASE WHEN known_by IN ('nccl', 'pytorch') THEN 0 ELSE rival END AS rival,
       CASE WHEN is_same_host THEN 'host' ELSE known_by END AS known_by,
       CASE WHEN is_same_host OR found.process_id IS NOT NULL THEN NULL
            WHEN coalesce(told.agreeing, 0) < 4
            THEN 'too few operations agree on one difference of the clocks'
            ELSE 'several differences of the clocks agree about as well' END AS reason
FROM ranks
LEFT JOIN told ON told.process_id = ranks.process_id
LEFT JOIN found ON found.process_id = ranks.process_id
ORDER BY rank, ranks.process_id
