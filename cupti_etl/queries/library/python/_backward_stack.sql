-- Calls and nodes of graphs of PyTorch's backward pass, with the Python stack of its operator.
--
-- computed: A call without frames that an operator of the backward pass made (_operator_launch) is
--   of the pass that this one is in, which is that of one operator of the forward pass by its
--   sequence number (_operator_forward); the stack is that of the first call of this operator. Of a
--   node of a graph that was captured then (graph_node) the same holds, and its operator is the
--   innermost of its thread.
-- limits: Where ranges have no sequence numbers, or an operator asked for nothing itself, there is
--   no row.
-- scope: whole
-- columns:
--   process_id BIGINT: The traced process.
--   correlation_id BIGINT: The call; NULL of a node.
--   graph_node_id BIGINT: The node; NULL of a call.
--   stack_id BIGINT: The stack of the forward pass, as in python_stack.
WITH operators AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    SELECT range_id, place, last_place FROM _operator
),
calls AS (
    SELECT asked.process_id, asked.correlation_id, NULL::BIGINT AS graph_node_id,
           asked.correlation_id AS turn, operator.place, stack.stack_id, stack.state
    FROM _call_stack AS stack
    JOIN _operator_launch AS asked USING (process_id, correlation_id)
    JOIN operators AS operator ON operator.range_id = asked.range_id
    UNION ALL
    SELECT node.process_id, NULL, node.graph_node_id, node.at_ns, operator.place, node.stack_id,
           node.state
    FROM (FROM graph_node WHERE source_graph_node_id IS NULL) AS node
    ASOF JOIN _operator_turn AS innermost
        ON innermost.process_id = node.process_id
        AND innermost.thread_id = node.thread_id
        AND innermost.at_ns <= node.at_ns
    JOIN operators AS operator ON operator.range_id = innermost.range_id
),
passes AS (
    SELECT pass.place, pass.last_place, forward.place AS forward_place,
           forward.last_place AS forward_last_place
    FROM _operator_forward AS link
    JOIN operators AS pass ON pass.range_id = link.range_id
    JOIN operators AS forward ON forward.range_id = link.forward_range_id
),
-- The first call of each forward operator that has a stack.
stacks AS (
    SELECT passes.place, passes.last_place, calls.stack_id
    FROM passes
    ASOF JOIN (
        SELECT place, arg_min(stack_id, turn) AS stack_id
        FROM calls
        WHERE stack_id IS NOT NULL
        GROUP BY place
    ) AS calls
        ON calls.place >= passes.forward_place
    WHERE calls.place <= passes.forward_last_place
)
SELECT calls.process_id, calls.correlation_id, calls.graph_node_id,
       any_value(stacks.stack_id) AS stack_id
FROM (FROM calls WHERE stack_id IS NULL AND state = 'no_frames') AS calls
ASOF JOIN stacks ON stacks.place <= calls.place
WHERE calls.place <= stacks.last_place
GROUP BY calls.process_id, calls.correlation_id, calls.graph_node_id
