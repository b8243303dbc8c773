-- How far the clock of each process is ahead of that of one nearer to the first rank.
--
-- computed: Processes with four operations and more of one group are linked, by its name or its
--   communicator, and so are those of one host, which have one clock. Each is compared with the
--   next one on the way with the fewest links to the first rank that any leads to: of several such
--   with one of its host, or else of the group of which it has most operations. The first of those
--   that no way connects with the first rank is compared with that all the same, by operations of
--   one kernel: not all groups have a name. If four operations and more are numbered by NCCL, or
--   by PyTorch, on both, their ends are compared. Else the ends of operations of the same kernel,
--   group and, where it is known, size are compared, whichever each may be: the right pairs all
--   differ by the same, so that at one difference more of 32 operations of the other find a
--   partner than at any other. The same is what differs by less than a 64th, a 16th or a quarter
--   of the median time from one operation to the next: the least that decides. Offset and drift
--   are those of a line through the medians of 16 parts of the time. Their intervals are what
--   cause and effect leave: no rank ends an operation before the other one has begun it.
-- needs: collective, process
-- requires:
--   collective: no communication kernels were recorded.
-- limits: As rank_clock.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank; NULL if it has none.
--   other_id BIGINT: The process that it is compared with; NULL of the first.
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the other's at at_ns; NULL if that is not
--     known.
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
--   known_by VARCHAR: host, nccl, pytorch or clock, as in rank_clock; NULL if it is not known.
--   reason VARCHAR: Why it is not known; NULL if it is, and of the first. It is known if four pairs
--     and more agree, and more than twice as many as on any other difference, or, if the clocks
--     agree as they are, as many.
WITH RECURSIVE ends AS MATERIALIZED (
    SELECT process_id, start_ns, end_ns, kind, process_group, communicator,
           collective IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AllToAll', 'Barrier')
               AS is_together,
           nccl_sequence IS NOT NULL AS is_nccl,
           CASE WHEN nccl_sequence IS NOT NULL THEN hash(communicator, collective, nccl_sequence)
                WHEN sequence IS NOT NULL THEN hash(kind, sequence) END AS number,
           -- What each rank sends may be its own.
           CASE WHEN collective NOT IN ('AllToAll', 'Gather', 'Scatter', 'SendRecv', 'other')
                THEN bytes END AS bytes
    FROM collective
    -- Of more than two, it is not known which two belong together.
    QUALIFY gpu = min(gpu) OVER (PARTITION BY process_id)
        AND (collective <> 'SendRecv'
             OR count(DISTINCT process_id) OVER (PARTITION BY kind) <= 2)
),
ranks AS MATERIALIZED (
    SELECT process_id, rank, host, row_number() OVER (ORDER BY rank, process_id) AS place
    FROM (SELECT DISTINCT process_id, rank FROM collective)
    LEFT JOIN (SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id)
        USING (process_id)
),
members AS MATERIALIZED (
    SELECT place, hash('host', host) AS circle, true AS is_host, NULL::BIGINT AS operations
    FROM ranks
    WHERE host IS NOT NULL
    UNION ALL
    SELECT place, circle, false, count(*)
    FROM (SELECT process_id, hash('group', process_group) AS circle
          FROM ends WHERE process_group IS NOT NULL
          UNION ALL
          SELECT process_id, hash('communicator', communicator)
          FROM ends WHERE communicator IS NOT NULL)
    JOIN ranks USING (process_id)
    GROUP BY place, circle
    HAVING count(*) >= 4
),
-- In each turn a circle passes on the best way of those of its members that have got a better one.
ways USING KEY (place) AS (
    SELECT place, place AS "first", 0 AS links, NULL::BIGINT AS other, false AS is_host FROM ranks
    UNION
    SELECT members.place, best."first", best.links + 1, best.place, members.is_host
    FROM (SELECT circle, min({'first': "first", 'links': links, 'place': ways.place}) AS best
          FROM ways
          JOIN members ON members.place = ways.place
          GROUP BY circle) AS offers
    JOIN members ON members.circle = offers.circle
    JOIN recurring.ways AS own ON own.place = members.place
    WHERE (best."first", best.links + 1) < (own."first", own.links)
    QUALIFY row_number() OVER (
        PARTITION BY members.place
        ORDER BY best."first", best.links, members.is_host DESC, operations DESC, best.place
    ) = 1
),
links AS MATERIALIZED (
    SELECT ranks.process_id, others.process_id AS other_id, is_host
    FROM ways
    JOIN ranks ON ranks.place = ways.place
    JOIN ranks AS others ON others.place = coalesce(other, 1)
    WHERE ranks.place > 1
),
numbered AS (
    FROM ends
    WHERE number IS NOT NULL AND is_together
    QUALIFY count(*) OVER (PARTITION BY process_id, number) = 1
),
exact AS (
    SELECT mine.process_id, mine.start_ns, mine.end_ns, others.start_ns AS other_start_ns,
           others.end_ns AS other_end_ns, true AS is_together,
           CASE WHEN mine.is_nccl THEN 'nccl' ELSE 'pytorch' END AS known_by,
           count(*) OVER (PARTITION BY mine.process_id) AS agreeing
    FROM numbered AS mine
    JOIN links ON links.process_id = mine.process_id AND NOT is_host
    JOIN numbered AS others ON others.number = mine.number AND others.process_id = other_id
    QUALIFY agreeing >= 4
),
kinds AS (
    SELECT DISTINCT process_id, kind FROM ends
),
-- Many share the same kinds with one: its operations are the same for all of them.
shared AS MATERIALIZED (
    SELECT links.process_id, other_id, list(mine.kind ORDER BY mine.kind) AS kinds,
           hash(other_id, kinds) AS circle
    FROM (FROM links ANTI JOIN exact USING (process_id)) AS links
    JOIN kinds AS mine ON mine.process_id = links.process_id
    JOIN kinds AS theirs ON theirs.process_id = other_id AND theirs.kind = mine.kind
    WHERE NOT is_host
    GROUP BY links.process_id, other_id
),
others AS (
    SELECT circle, kind, bytes, start_ns, end_ns,
           end_ns - lag(end_ns) OVER (PARTITION BY circle, kind ORDER BY end_ns) AS after_ns,
           row_number() OVER (PARTITION BY circle ORDER BY end_ns) AS place
    FROM ends
    JOIN (SELECT DISTINCT circle, other_id, unnest(kinds) AS kind FROM shared) AS circles
        USING (kind)
    WHERE process_id = other_id
    QUALIFY place <= 2500
),
widths AS (
    SELECT circle, TRY_CAST((median(after_ns) / share) AS BIGINT) AS width_ns
    FROM others, (VALUES (64), (16), (4)) AS shares(share)
    GROUP BY circle, share
    HAVING width_ns > 0
),
probes AS (
    FROM others
    QUALIFY place % ceil(count(*) OVER (PARTITION BY circle) / 32) = 0
),
mine AS (
    SELECT circle, ends.*
    FROM ends
    JOIN (SELECT process_id, circle, unnest(kinds) AS kind FROM shared) AS shared
        USING (process_id, kind)
    QUALIFY row_number() OVER (PARTITION BY process_id ORDER BY end_ns) <= 5000
),
pairs AS (
    SELECT mine.process_id, mine.circle, mine.start_ns, mine.end_ns, is_together,
           probes.start_ns AS other_start_ns, probes.end_ns AS other_end_ns,
           mine.end_ns - probes.end_ns AS ahead_ns
    FROM mine
    JOIN probes
        ON probes.circle = mine.circle
        AND probes.kind = mine.kind
        AND (probes.bytes = mine.bytes) IS NOT FALSE
),
-- What lies within half a cell is in one cell of a grid, or of the one that is shifted by a half.
cells AS (
    SELECT process_id, width_ns,
           ahead_ns - ((ahead_ns + shift_ns) % width_ns + width_ns) % width_ns AS least_ns,
           count(*) AS agreeing
    FROM pairs
    JOIN widths USING (circle), LATERAL (SELECT unnest([0, width_ns // 2]) AS shift_ns)
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
    SELECT process_id, start_ns, end_ns, other_start_ns, other_end_ns, is_together,
           'clock' AS known_by, agreeing
    FROM told
    JOIN pairs USING (process_id)
    WHERE is_known AND ahead_ns BETWEEN least_ns AND least_ns + width_ns
),
middles AS (
    SELECT process_id, quantile_disc(end_ns - other_end_ns, 0.5) AS base_ns,
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
           (end_ns - other_end_ns - base_ns)::DOUBLE AS apart_ns,
           (start_ns - other_end_ns - base_ns)::DOUBLE AS low_ns,
           (end_ns - other_start_ns - base_ns)::DOUBLE AS high_ns,
           ntile(16) OVER (PARTITION BY matched.process_id ORDER BY end_ns, other_end_ns) AS part
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
SELECT ranks.process_id, rank, other_id, CASE WHEN is_host THEN 0 ELSE ahead_ns END AS ahead_ns,
       CASE WHEN is_host THEN 0 ELSE ahead_low_ns END AS ahead_low_ns,
       CASE WHEN is_host THEN 0 ELSE ahead_high_ns END AS ahead_high_ns, at_ns,
       CASE WHEN is_host THEN 0 ELSE drift_ppm END AS drift_ppm,
       CASE WHEN is_host THEN 0 ELSE drift_low_ppm END AS drift_low_ppm,
       CASE WHEN is_host THEN 0 ELSE drift_high_ppm END AS drift_high_ppm,
       coalesce(found.agreeing, told.agreeing) AS agreeing,
       CASE WHEN known_by IN ('nccl', 'pytorch') THEN 0 ELSE rival END AS rival,
       CASE WHEN is_host THEN 'host' ELSE known_by END AS known_by,
       CASE WHEN other_id IS NULL OR is_host OR found.process_id IS NOT NULL THEN NULL
            WHEN coalesce(told.agreeing, 0) < 4
            THEN 'too few operations agree on one difference of the clocks'
            ELSE 'several differences of the clocks agree about as well' END AS reason
FROM ranks
LEFT JOIN links ON links.process_id = ranks.process_id
LEFT JOIN told ON told.process_id = ranks.process_id
LEFT JOIN found ON found.process_id = ranks.process_id
