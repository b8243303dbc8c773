-- How often each kernel was executed, and how often the trace says that it was a collective.
--
-- computed: Executions by mangled name. The trace says so of an execution if its call has the
--   arguments of a collective (_collective_argument): of the kernels of a graph, which have one
--   call, only if it says so of all.
-- scope: whole
-- columns:
--   name VARCHAR: Mangled name; one row each.
--   executions BIGINT [executions]: How often it was executed.
--   told BIGINT [executions]: Of these, those that were a collective; NULL for none.
WITH told AS (
    SELECT process_id, correlation_id, name, count(*) OVER call <= pieces AS is_all
    FROM kernel
    JOIN _collective_argument USING (process_id, correlation_id)
    WINDOW call AS (PARTITION BY process_id, correlation_id)
),
told_names AS (
    SELECT name, count(*) AS told FROM told WHERE is_all GROUP BY name
),
names AS (
    SELECT name, count(*) AS executions FROM kernel GROUP BY name
)
SELECT names.name, executions, told
FROM names
LEFT JOIN told_names ON told_names.name = names.name;

-- merge
SELECT name, sum(executions)::BIGINT AS executions, sum(told)::BIGINT AS told
FROM partial
GROUP BY name
