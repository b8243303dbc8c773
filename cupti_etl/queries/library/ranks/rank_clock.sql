-- How far the clock of each process is ahead of the first rank's, as their collectives tell.
--
-- computed: Processes of one host have one clock. Else the ends of operations of the same kernel,
--   group and, where it is known, size are compared with those of the first rank, whichever each
--   may be: the right pairs all differ by the same, so that at one difference more of 32 operations
--   of the first rank find a partner than at any other. The same is what differs by less than a
--   64th, a 16th or a quarter of the median time from one operation to the next: the least that
--   decides.
-- needs: collective, process
-- requires:
--   collective: no communication kernels were recorded.
-- limits: The first 5000 operations of each process, and of those the first 2500 of the first
--   rank. Operations at a perfectly even pace tell nothing. Hosts of one name are taken for one.
-- scope: whole
-- gathered: collective
-- columns:
--   process_id BIGINT: The process.
--   rank INTEGER: Its rank; NULL if it has none.
--   ahead_ns BIGINT [ns]: How far its clock is ahead of the first rank's; NULL if that is not
--     known.
--   agreeing BIGINT [operations]: Pairs that differ by this much; NULL on the same host.
--   rival BIGINT [operations]: Most pairs that agree on another difference.
--   reason VARCHAR: Why it is not known; NULL if it is. It is known if four pairs and more agree,
--     and more than twice as many as on any other difference, or, if the clocks agree as they are,
--     as many.
WITH ends AS MATERIALIZED (
    SELECT process_id, rank, end_ns, kind,
           -- What each rank sends may be its own.
           CASE WHEN collective NOT IN ('AllToAll', 'Gather', 'Scatter', 'SendRecv', 'other')
                THEN bytes END AS bytes,
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
firsts AS (
    SELECT ends.*, ends.end_ns - lag(ends.end_ns) OVER (
               PARTITION BY kind ORDER BY ends.end_ns
           ) AS after_ns
    FROM ends
    JOIN ranks ON ranks.process_id = ends.process_id AND is_first
    WHERE place <= 2500
),
widths AS (
    SELECT TRY_CAST((median(after_ns) / share) AS BIGINT) AS width_ns
    FROM firsts, (VALUES (64), (16), (4)) AS shares(share)
    GROUP BY share
    HAVING width_ns > 0
),
probes AS (
    SELECT kind, bytes, end_ns
    FROM firsts, (SELECT count(*) AS n FROM firsts)
    WHERE place % ceil(n / 32) = 0
),
pairs AS (
    SELECT ends.process_id, ends.end_ns - probes.end_ns AS ahead_ns
    FROM ends
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
middles AS (
    SELECT process_id, TRY_CAST(median(ahead_ns) AS BIGINT) AS ahead_ns
    FROM told
    JOIN pairs USING (process_id)
    WHERE is_known AND ahead_ns BETWEEN least_ns AND least_ns + width_ns
    GROUP BY process_id
)
SELECT ranks.process_id, rank,
       CASE WHEN is_same_host THEN 0 ELSE ahead_ns END AS ahead_ns,
       agreeing, rival,
       CASE WHEN is_same_host OR is_known THEN NULL
            WHEN coalesce(agreeing, 0) < 4
            THEN 'too few operations agree on one difference of the clocks'
            ELSE 'several differences of the clocks agree about as well' END AS reason
FROM ranks
LEFT JOIN told ON told.process_id = ranks.process_id
LEFT JOIN middles ON middles.process_id = ranks.process_id
ORDER BY rank, ranks.process_id
