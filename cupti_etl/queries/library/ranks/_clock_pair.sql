-- Operations of two processes that are one and the same, as far as their clocks let it be known.
--
-- computed: Of each process and the one that it is compared with (_clock_way), if they are of two
--   hosts. If four operations and more are numbered by NCCL, or by PyTorch, on both, those are the
--   pairs. Else the ends of operations of the same kernel, group and, where it is known, size are
--   compared, whichever each may be: the right pairs all differ by the same, so that at one
--   difference more of 32 operations of the other find a partner than at any other. The same is
--   what differs by less than a 64th, a 16th or a quarter of the median time from one operation to
--   the next: the least that decides.
-- requires: _collective
-- materialized: Made once for an opened trace, as _clock_line and _clock_link read it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: When its operation began, by its clock; NULL in the one row of a
--     process of which no difference decides.
--   end_ns BIGINT [epoch ns]: When it ended.
--   other_start_ns BIGINT [epoch ns]: When the other's began, by the clock of that.
--   other_end_ns BIGINT [epoch ns]: When it ended.
--   ends_together BOOLEAN: Whether no rank can end it before the last has begun it.
--   known_by VARCHAR: nccl, pytorch or clock; NULL where start_ns is.
--   agreeing BIGINT [operations]: Pairs of the process, or those of 32 that differ by this much.
--   rival BIGINT [operations]: Most pairs that agree on another difference; 0 of those by number.
WITH links AS (
    FROM _clock_way WHERE NOT is_host
),
numbered AS (
    FROM _clock_end
    WHERE number IS NOT NULL AND ends_together
    QUALIFY count(*) OVER (PARTITION BY process_id, number) = 1
),
exact AS (
    SELECT mine.process_id, mine.start_ns, mine.end_ns, others.start_ns AS other_start_ns,
           others.end_ns AS other_end_ns, true AS ends_together,
           CASE WHEN mine.is_nccl THEN 'nccl' ELSE 'pytorch' END AS known_by,
           count(*) OVER (PARTITION BY mine.process_id) AS agreeing
    FROM numbered AS mine
    JOIN links ON links.process_id = mine.process_id
    JOIN numbered AS others ON others.number = mine.number AND others.process_id = other_id
    QUALIFY agreeing >= 4
),
kinds AS (
    SELECT DISTINCT process_id, kind FROM _clock_end
),
-- Many share the same kinds with one: its operations are the same for all of them.
shared AS MATERIALIZED (
    SELECT links.process_id, other_id, list(mine.kind ORDER BY mine.kind) AS kinds,
           hash(other_id, kinds) AS circle
    FROM (FROM links ANTI JOIN exact USING (process_id)) AS links
    JOIN kinds AS mine ON mine.process_id = links.process_id
    JOIN kinds AS theirs ON theirs.process_id = other_id AND theirs.kind = mine.kind
    GROUP BY links.process_id, other_id
),
others AS (
    SELECT circle, kind, bytes, start_ns, end_ns,
           end_ns - lag(end_ns) OVER (PARTITION BY circle, kind ORDER BY end_ns) AS after_ns,
           row_number() OVER (PARTITION BY circle ORDER BY end_ns) AS place
    FROM _clock_end
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
    FROM _clock_end AS ends
    JOIN (SELECT process_id, circle, unnest(kinds) AS kind FROM shared) AS shared
        USING (process_id, kind)
    QUALIFY row_number() OVER (PARTITION BY process_id ORDER BY end_ns) <= 5000
),
pairs AS (
    SELECT mine.process_id, mine.circle, mine.start_ns, mine.end_ns, ends_together,
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
)
SELECT process_id, start_ns, end_ns, other_start_ns, other_end_ns, ends_together, known_by,
       agreeing, 0::BIGINT AS rival
FROM exact
UNION ALL
SELECT told.process_id, start_ns, end_ns, other_start_ns, other_end_ns, ends_together,
       CASE WHEN is_known THEN 'clock' END, agreeing, rival
FROM told
LEFT JOIN pairs
    ON is_known
    AND pairs.process_id = told.process_id
    AND ahead_ns BETWEEN least_ns AND least_ns + width_ns
