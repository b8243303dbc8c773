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
        ASOF LEFT JOIN _range_turn AS turn
            ON turn.process_id = launches.process_id
            AND turn.thread_id = launches.thread_id
            AND turn.at_ns <= launches.start_ns
        WHERE turn.range_id IS NULL
        UNION ALL
        SELECT process_id, thread_id, start_ns, range_id
        FROM outermost
        SEMI JOIN _threaded_process USING (process_id)
        WHERE is_autograd
    )
),
threads AS (
    SELECT process_id, thread_id, coalesce(bool_or(NOT range.is_autograd), false) AS is_marked,
           coalesce(bool_or(range.is_autograd), false) AS is_autograd
    FROM (SELECT DISTINCT process_id, thread_id FROM launches)
    LEFT JOIN outermost AS range USING (process_id, thread_id)
    GROUP BY process_id, thread_id
),
pairs AS MATERIALIZED (
    SELECT asking.process_id, asking.thread_id, asking.is_marked, asking.is_autograd,
           threads.thread_id AS waiter
    FROM (SELECT * FROM threads SEMI JOIN asked USING (process_id, thread_id)) AS asking
    JOIN threads
        ON threads.process_id = asking.process_id
        AND threads.thread_id != asking.thread_id
        AND threads.is_marked
),
-- Nodes that are computed on a CPU run on the thread that waits for the backward pass.
nodes AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, end_ns, {'range_id': parent_range_id} AS around
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
events AS (
    SELECT process_id, thread_id, at_ns, {'range_id': range_id} AS turn
    FROM _range_turn
    UNION ALL BY NAME
    SELECT process_id, thread_id, start_ns AS at_ns, coalesce(end_ns, start_ns) AS called_ns
    FROM api_call
    UNION ALL BY NAME
    SELECT process_id, thread_id, start_ns AS at_ns, id, asking_range_id
    FROM asked
),
-- What each of a pair does. A thread that waits for autograd does nodes for the same backward pass.
moves AS (
    SELECT pairs.* EXCLUDE (one), at_ns, id, asking_range_id, called_ns, one = waiter AS is_waiter,
           is_waiter AND is_autograd AND at_ns <= coalesce(nodes.end_ns, at_ns - 1) AS is_node,
           CASE WHEN is_node AND at_ns < nodes.end_ns AND turn IS NOT NULL THEN around
                ELSE turn END AS turn
    FROM (SELECT *, unnest([thread_id, waiter]) AS one FROM pairs) AS pairs
    JOIN events ON events.process_id = pairs.process_id AND events.thread_id = pairs.one
    ASOF LEFT JOIN nodes
        ON nodes.process_id = events.process_id
        AND nodes.thread_id = events.thread_id
        AND nodes.start_ns <= at_ns
),
-- And what each did last, in the order of time.
lines AS (
    SELECT moves.* EXCLUDE (turn, called_ns),
           last_value(CASE WHEN is_waiter THEN turn END IGNORE NULLS) OVER line AS turn,
           max(CASE WHEN is_waiter AND NOT is_node AND id IS NULL THEN at_ns END) OVER line
               AS since_ns,
           max(CASE WHEN is_waiter AND NOT is_node THEN called_ns END) OVER line AS waiter_ns,
           max(CASE WHEN NOT is_waiter THEN called_ns END) OVER line AS thread_ns
    FROM moves
    WINDOW line AS (PARTITION BY process_id, thread_id, waiter ORDER BY at_ns)
),
-- The ranges that are open meanwhile, since when their threads do nothing, and whether one of the
-- two threads ever does something while the other is in a call.
waiting AS (
    SELECT process_id, thread_id, is_marked, waiter, id, asking_range_id, at_ns AS start_ns,
           since_ns, turn.range_id AS range_id,
           bool_or(coalesce(CASE WHEN is_waiter THEN thread_ns ELSE waiter_ns END > at_ns, false)
                   AND NOT is_node)
               OVER (PARTITION BY process_id, thread_id, waiter) AS is_beside,
           is_waiter
    FROM lines
),
judged AS (
    SELECT *, count(*) OVER (PARTITION BY id) AS ranges,
           bool_and(asking_range_id IS NOT NULL) OVER pause
               OR min(thread_id) OVER pause = max(thread_id) OVER pause AS is_alone
    FROM waiting
    WHERE id IS NOT NULL AND NOT is_waiter AND range_id IS NOT NULL
    WINDOW pause AS (PARTITION BY process_id, waiter, since_ns, is_beside)
)
SELECT process_id, thread_id, min(start_ns) AS start_ns, max(start_ns) AS end_ns, asking_range_id,
       range_id, NOT is_beside AND ranges = 1 AND is_alone AS is_clear
FROM judged
WHERE NOT is_beside OR asking_range_id IS NOT NULL OR (ranges > 1 AND NOT is_marked)
GROUP BY process_id, thread_id, asking_range_id, range_id, waiter, since_ns, is_clear
