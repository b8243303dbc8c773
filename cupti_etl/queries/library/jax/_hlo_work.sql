-- Each finished activity of processes that run XLA, with the HLO operation that asked for it.
--
-- computed: The innermost range of XLA (_hlo_range) of the thread that launched it, when it did. In
--   a command buffer, which is a CUDA graph, a kernel is of the operation in whose range its node
--   was added, if that was recorded; else of the one operation of the module whose name it has
--   (fusion_24 is of fusion.24), if the buffer ran it once; else of the command buffer. Of the
--   rest, what a thread that tries modules for the autotuner asks for while XLA compiles is
--   autotuning; of what remains, nothing is known.
-- requires: _hlo_range
-- materialized: Made once for an opened trace, as every query about HLO reads it.
-- limits: XLA runs operations that are alike by one kernel; where a command buffer holds but one
--   of them, it may have the name of the other. Work whose call was not recorded is not here.
-- scope: start_ns
-- columns:
--   process_id, device_id of launch_to_gpu
--   start_ns, end_ns of _graph_interval
--   kind, name of launch_to_gpu
--   phase VARCHAR: program, autotuning or compilation; NULL if no range of XLA was around.
--   source VARCHAR: What says so: range, node, name, command buffer or thread; NULL without phase.
--   hlo_module VARCHAR: The module; NULL if it is not known.
--   program_id BIGINT: XLA's number of the module; NULL for what the autotuner tries.
--   hlo_op VARCHAR: The operation; NULL if none is known.
--   framework_op VARCHAR: The framework's name of it; NULL if it is not known.
--   execution VARCHAR: Activities of one run of the operation have the same.
WITH RECURSIVE nesting AS MATERIALIZED (
    -- DuckDB plans no ASOF JOIN within a recursive query, as that of this view is.
    SELECT range_id, parent_range_id FROM _range_parent
),
hlo AS MATERIALIZED (
    FROM _hlo_range
),
-- Libraries have ranges inside those of XLA.
inside AS (
    SELECT range_id, range_id AS hlo_range_id FROM hlo
    UNION ALL
    SELECT child.range_id, inside.hlo_range_id
    FROM inside
    JOIN nesting AS child ON child.parent_range_id = inside.range_id
    ANTI JOIN hlo ON hlo.range_id = child.range_id
),
within AS MATERIALIZED (
    FROM inside
),
asked AS (
    SELECT call.*, innermost.range_id
    FROM (
        SELECT *
        FROM launch_to_gpu
        WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
            AND process_id IN (SELECT process_id FROM hlo)
    ) AS call
    ASOF LEFT JOIN _range_served AS innermost
        ON innermost.process_id = call.process_id
        AND innermost.thread_id = call.thread_id
        AND innermost.at_ns <= call.api_start_ns
),
direct AS MATERIALIZED (
    SELECT asked.process_id, asked.correlation_id, asked.thread_id, api_start_ns, device_id,
           asked.start_ns, asked.end_ns, asked.kind, name, graph_node_id, is_graph,
           hlo.range_id, phase, hlo_module, program_id, hlo_op, framework_op,
           is_graph AND coalesce(starts_with(hlo_op, 'command_buffer'), false) AS is_buffered
    FROM asked
    LEFT JOIN within ON within.range_id = asked.range_id
    LEFT JOIN hlo ON hlo.range_id = within.hlo_range_id
),
-- Nodes that were added in a range of an operation.
nodes AS (
    SELECT made.process_id, made.correlation_id, made.graph_node_id, hlo.hlo_op,
           hlo.framework_op
    FROM (
        SELECT DISTINCT process_id, correlation_id, graph_node_id, thread_id, made_ns
        FROM _graph_interval
        WHERE made_ns IS NOT NULL AND process_id IN (SELECT process_id FROM hlo)
    ) AS made
    ASOF JOIN _range_turn AS turn
        ON turn.process_id = made.process_id
        AND turn.thread_id = made.thread_id
        AND turn.at_ns <= made.made_ns
    JOIN within ON within.range_id = turn.range_id
    JOIN hlo ON hlo.range_id = within.hlo_range_id AND hlo.kind = 'thunk'
    WHERE NOT starts_with(hlo.hlo_op, 'command_buffer')
),
-- Operations of a program by the name that XLA gives their kernels.
named AS (
    SELECT process_id, hlo_module, program_id, any_value(hlo_op) AS hlo_op,
           any_value(framework_op) AS framework_op,
           regexp_replace(hlo_op, '[^A-Za-z0-9_]', '_', 'g') AS kernel
    FROM hlo
    WHERE kind = 'thunk' AND program_id IS NOT NULL AND NOT starts_with(hlo_op, 'command_buffer')
    GROUP BY process_id, hlo_module, program_id, kernel
    HAVING count(DISTINCT hlo_op) = 1
),
buffered AS (
    SELECT direct.*,
           count(*) OVER (
               PARTITION BY process_id, correlation_id, api_start_ns, device_id, kind, name
           ) = 1 AS is_once
    FROM direct
    WHERE is_buffered
),
-- Threads on which the autotuner tries modules, and when XLA compiles.
tuners AS (
    SELECT DISTINCT process_id, thread_id
    FROM hlo
    WHERE kind = 'module' AND phase = 'autotuning'
),
compiling AS (
    SELECT process_id, start_ns, coalesce(end_ns, 9223372036854775807) AS end_ns
    FROM hlo
    WHERE kind = 'compiler'
    QUALIFY coalesce(end_ns, 9223372036854775807) > coalesce(max(end_ns) OVER (
        PARTITION BY process_id ORDER BY start_ns, end_ns DESC, range_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), -9223372036854775808)
),
other AS (
    SELECT direct.* EXCLUDE (phase),
           coalesce(direct.phase, CASE WHEN tuners.thread_id IS NOT NULL
               AND direct.api_start_ns <= compiling.end_ns THEN 'autotuning' END) AS phase,
           direct.phase IS NOT NULL AS is_in_range
    FROM (FROM direct WHERE NOT is_buffered) AS direct
    LEFT JOIN tuners USING (process_id, thread_id)
    ASOF LEFT JOIN compiling
        ON compiling.process_id = direct.process_id
        AND compiling.start_ns <= direct.api_start_ns
)
SELECT process_id, device_id, start_ns, end_ns, kind, name, phase,
       CASE WHEN is_in_range THEN 'range' WHEN phase IS NOT NULL THEN 'thread' END AS source,
       hlo_module, program_id, hlo_op, framework_op,
       concat('range ', range_id) AS execution
FROM other
UNION ALL
SELECT buffered.process_id, device_id, start_ns, end_ns, kind, name, phase,
       CASE WHEN nodes.hlo_op IS NOT NULL THEN 'node'
            WHEN named.hlo_op IS NOT NULL THEN 'name'
            ELSE 'command buffer' END,
       buffered.hlo_module, buffered.program_id,
       coalesce(nodes.hlo_op, named.hlo_op, buffered.hlo_op),
       CASE WHEN nodes.hlo_op IS NOT NULL THEN nodes.framework_op
            WHEN named.hlo_op IS NOT NULL THEN named.framework_op
            ELSE buffered.framework_op END,
       concat('launch ', buffered.process_id, ' ', buffered.correlation_id, ' ', api_start_ns)
FROM buffered
LEFT JOIN nodes USING (process_id, correlation_id, graph_node_id)
LEFT JOIN named
    ON named.process_id = buffered.process_id
    AND named.hlo_module = buffered.hlo_module
    AND named.program_id = buffered.program_id
    AND named.kernel = buffered.name
    AND is_once AND buffered.kind = 'kernel'
