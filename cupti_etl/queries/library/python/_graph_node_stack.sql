-- From which Python stack each node of a CUDA graph was captured or added, from some time on.
--
-- computed: A node that was made of another one (a clone's, an executable graph's), or updated from
--   it, has what this one has, and so on to the node that was captured or added (graph_node). What
--   was captured in PyTorch's backward pass has the stack of the forward pass, where sequence
--   numbers tell it (_backward_stack).
-- limits: A node whose capture was not seen has no row.
-- scope: whole
-- columns:
--   process_id BIGINT: The traced process.
--   graph_node_id BIGINT: The node, as in kernel.
--   from_ns BIGINT [epoch ns]: When it was updated; 0 for what it was made with.
--   made_graph_node_id BIGINT: The node that was captured or added.
--   made_ns BIGINT [epoch ns]: When this was.
--   thread_id INTEGER: The thread that did it.
--   stack_id BIGINT: The stack, as in python_stack; NULL if there is none.
--   state VARCHAR: Why, as in launch_stack.
--   is_backward BOOLEAN: Whether the stack is that of the forward pass, and the work is not.
WITH RECURSIVE sources AS (
    SELECT process_id, graph_node_id, source_graph_node_id, at_ns AS from_ns
    FROM graph_node
    WHERE source_graph_node_id IS NOT NULL
),
-- Graphs that nobody launches are never updated.
first_sources AS (
    SELECT process_id, graph_node_id, arg_min(source_graph_node_id, from_ns) AS source_id,
           min(from_ns) AS first_ns
    FROM sources
    GROUP BY process_id, graph_node_id
),
ancestors AS (
    SELECT process_id, graph_node_id, from_ns, source_graph_node_id AS ancestor_id
    FROM sources
    UNION
    SELECT ancestors.process_id, ancestors.graph_node_id, from_ns, first_sources.source_id
    FROM ancestors
    JOIN first_sources
        ON first_sources.process_id = ancestors.process_id
        AND first_sources.graph_node_id = ancestor_id
),
-- CUPTI may tell of a clone as of a new node, too.
made AS (
    SELECT process_id, graph_node_id, min(at_ns) AS made_ns,
           arg_min(thread_id, at_ns) AS thread_id,
           arg_min({'stack_id': stack_id, 'state': state}, at_ns) AS stack
    FROM (FROM graph_node WHERE source_graph_node_id IS NULL) AS created
    ANTI JOIN first_sources USING (process_id, graph_node_id)
    GROUP BY process_id, graph_node_id
),
nodes AS (
    SELECT process_id, graph_node_id, made_ns AS from_ns, graph_node_id AS ancestor_id FROM made
    UNION ALL
    FROM ancestors
)
SELECT nodes.process_id, nodes.graph_node_id,
       CASE WHEN from_ns > first_ns THEN from_ns ELSE 0 END AS from_ns,
       ancestor_id AS made_graph_node_id, made_ns,
       made.thread_id, coalesce(stack.stack_id, backward.stack_id) AS stack_id, stack.state,
       backward.stack_id IS NOT NULL AS is_backward
FROM nodes
JOIN made ON made.process_id = nodes.process_id AND made.graph_node_id = ancestor_id
LEFT JOIN first_sources AS first
    ON first.process_id = nodes.process_id AND first.graph_node_id = nodes.graph_node_id
LEFT JOIN _backward_stack AS backward
    ON backward.process_id = nodes.process_id AND backward.graph_node_id = ancestor_id
