-- NVTX ranges that wait while another thread calls for them, as a backward pass of PyTorch does.
--
-- computed: What a thread asks for outside ranges of its own is for the innermost range of another
--   thread of the process that launches, too; so are the outermost ranges of a thread of PyTorch's
--   autograd, which are called so for most of their time. It is clear where that other thread is
--   the only one in a range, between two of its calls or ranges no third thread does the same, and
--   neither ever calls, or begins or ends a range, while the other is in a call: else it does not
--   wait. A thread that works beside the only one in a range does so for itself and has no row,
--   unless it is autograd's; one with ranges of its own that works beside any of several has none,
--   either. Nodes of autograd on a thread that waits for one of autograd's are of the same backward
--   pass: what it does in them does not count.
-- requires:
--   marker
--   _threaded_process: no process with ranges calls from several threads.
-- materialized: Made once for an opened trace, as it looks at all calls of several threads.
-- limits: That a thread waits is found from time alone. Threads of autograd are known by the names
--   of their ranges. A thread that works for two others, of which one has no ranges, is taken for
--   one that works for itself.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread that calls.
--   start_ns BIGINT [epoch ns]: Its first call, or the begin of its range.
--   end_ns BIGINT [epoch ns]: Begin of its last call.
--   asking_range_id BIGINT: The outermost range of autograd's thread; NULL outside of ranges.
--   range_id BIGINT: The range that waits.
--   is_clear BOOLEAN: Whether no other range can be meant.
WITH launches AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns
    FROM launch
    SEMI JOIN _threaded_process USING (process_id)
    WHERE start_ns IS NOT NULL AND thread_id IS NOT NULL
),
outermost AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, range_id,
           max(coalesce(end_ns, 9223372036854775807)) OVER (
               PARTITION BY process_id, thread_id ORDER BY start_ns
           ) AS until_ns,
           coalesce(sum(CASE WHEN starts_with(name, 'autograd::engine::') OR is_node
                             THEN end_ns - start_ns ELSE start_ns - end_ns END) OVER (
               PARTITION BY process_id, thread_id
           ) > 0, false) AS is_autograd
    FROM (
        -- In PyTorch of 2021, no range of the engine is around the nodes of the graph.
        SELECT *, regexp_matches(name, '^(torch::autograd::|[\w:]+Backward\d*(, |$))')
                   AND bool_or(starts_with(name, 'torch::autograd::')) OVER (
                       PARTITION BY process_id, thread_id
                   ) AS is_node
        FROM _range_span
        JOIN _range_parent USING (range_id)
        WHERE parent_range_id IS NULL
    )
),
-- What is asked for in no range of its thread, or by a thread of autograd.
asked AS MATERIALIZED (
    SELECT row_number() OVER () AS id, *
    FROM (
        SELECT launches.process_id, launches.thread_id, launches.start_ns,
               NULL::BIGINT AS asking_range_id
        FROM launches
        ASOF LEFT JOIN outermost AS range
            ON range.process_id = launches.process_id
            AND range.thread_id = launches.thread_id
            AND range.start_ns <= launches.start_ns
        WHERE NOT coalesce(until_ns > launches.start_ns, false)
        UNION ALL
        SELECT process_id, thread_id, start_ns, range_id
        FROM outermost
        SEMI JOIN _threaded_process USING (process_id)
        WHERE is_autograd
    )
),
threads AS MATERIALIZED (
    SELECT 2 * row_number() OVER () AS role, process_id, thread_id,
           coalesce(bool_or(NOT range.is_autograd), false) AS is_marked,
           coalesce(bool_or(range.is_autograd), false) AS is_autograd
    FROM (SELECT DISTINCT process_id, thread_id FROM launches)
    LEFT JOIN outermost AS range USING (process_id, thread_id)
    GROUP BY process_id, thread_id
),
pairs AS MATERIALIZED (
    -- One whose nodes do not count has a role beside that of its thread.
    SELECT asking.*, threads.thread_id AS waiter,
           threads.role + asking.is_autograd::BIGINT AS waiter_role
    FROM (SELECT * FROM threads SEMI JOIN asked USING (process_id, thread_id)) AS asking
    JOIN threads
        ON threads.process_id = asking.process_id
        AND threads.thread_id != asking.thread_id
        AND threads.is_marked
),
-- Nodes that are computed on a CPU run on the thread that waits for the backward pass.
nodes AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, end_ns, parent_range_id AS around_id
    FROM _range_span
    JOIN _range_parent USING (range_id)
    SEMI JOIN (SELECT process_id, waiter AS thread_id FROM pairs WHERE is_autograd)
        USING (process_id, thread_id)
    WHERE regexp_matches(name, '^(autograd::engine|torch::autograd)::') AND end_ns > start_ns
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
        PARTITION BY process_id, thread_id ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), start_ns)
),
-- What each of a pair does.
events AS MATERIALIZED (
    SELECT roles.*, at_ns, called_ns
    FROM (
        SELECT DISTINCT process_id, unnest([thread_id, waiter]) AS thread_id,
               unnest([role, waiter_role]) AS role, unnest([false, is_autograd]) AS is_helped
        FROM pairs
    ) AS roles
    JOIN (
        SELECT process_id, thread_id, at_ns, NULL AS called_ns FROM _range_turn
        UNION ALL
        SELECT process_id, thread_id, start_ns, end_ns FROM api_call
        UNION ALL
        SELECT process_id, thread_id, start_ns, NULL FROM asked
    ) AS done ON done.process_id = roles.process_id AND done.thread_id = roles.thread_id
),
-- A thread that waits for autograd does nodes for the same backward pass. Most threads have none.
moves AS NOT MATERIALIZED (
    SELECT role, at_ns, called_ns
    FROM events
    ANTI JOIN nodes USING (process_id, thread_id)
    UNION ALL
    SELECT role, at_ns, called_ns
    FROM (FROM events SEMI JOIN nodes USING (process_id, thread_id)) AS events
    ASOF LEFT JOIN nodes
        ON nodes.process_id = events.process_id
        AND nodes.thread_id = events.thread_id
        AND nodes.start_ns <= at_ns
    WHERE NOT is_helped OR at_ns > coalesce(nodes.end_ns, at_ns - 1)
),
-- Pairs of which one ever does something while the other is in a call.
beside AS (
    SELECT DISTINCT pairs.role, waiter_role
    FROM (
        SELECT role, waiter_role, unnest([role, waiter_role]) AS one,
               unnest([waiter_role, role]) AS other
        FROM pairs
    ) AS pairs
    JOIN moves AS call ON call.role = one AND called_ns > at_ns
    ASOF JOIN moves AS next ON next.role = other AND next.at_ns >= call.at_ns
    WHERE next.at_ns < call.called_ns
),
-- The ranges that are open meanwhile, and since when their threads do nothing.
waiting AS (
    SELECT asked.*, waiter, is_marked, beside.role IS NOT NULL AS is_beside,
           move.at_ns AS since_ns,
           CASE WHEN is_autograd AND turn.at_ns < nodes.end_ns THEN around_id
                ELSE turn.range_id END AS range_id
    FROM asked
    JOIN pairs USING (process_id, thread_id)
    LEFT JOIN beside USING (role, waiter_role)
    ASOF JOIN (
        FROM _range_turn
        SEMI JOIN (SELECT process_id, waiter AS thread_id FROM pairs) USING (process_id, thread_id)
    ) AS turn
        ON turn.process_id = asked.process_id
        AND turn.thread_id = waiter
        AND turn.at_ns <= asked.start_ns
    ASOF LEFT JOIN nodes
        ON nodes.process_id = asked.process_id
        AND nodes.thread_id = waiter
        AND nodes.start_ns <= turn.at_ns
    ASOF LEFT JOIN (
        FROM moves
        SEMI JOIN (SELECT waiter_role AS role FROM pairs) USING (role)
    ) AS move ON move.role = waiter_role AND move.at_ns <= asked.start_ns
),
judged AS (
    SELECT *, count(*) OVER (PARTITION BY id) AS ranges,
           bool_and(asking_range_id IS NOT NULL) OVER pause
               OR min(thread_id) OVER pause = max(thread_id) OVER pause AS is_alone
    FROM waiting
    WHERE range_id IS NOT NULL
    WINDOW pause AS (PARTITION BY process_id, waiter, since_ns, is_beside)
)
SELECT process_id, thread_id, min(start_ns) AS start_ns, max(start_ns) AS end_ns, asking_range_id,
       range_id, NOT is_beside AND ranges = 1 AND is_alone AS is_clear
FROM judged
WHERE NOT is_beside OR asking_range_id IS NOT NULL OR (ranges > 1 AND NOT is_marked)
GROUP BY process_id, thread_id, asking_range_id, range_id, waiter, since_ns, is_clear
