-- Processes with ranges that are operators of PyTorch, or annotations.
--
-- computed: Those with ranges of the domains of _operator, or one named aten::....
-- requires: marker
-- rare: Many traces have none, and operators are put together from several tables.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT DISTINCT process_id
FROM _range_span
WHERE domain IN ('cpu_op', 'Operator', 'operator', 'user_annotation', 'pytorch.operator',
                 'pytorch.backward', 'pytorch.annotation')
    OR starts_with(name, 'aten::')
