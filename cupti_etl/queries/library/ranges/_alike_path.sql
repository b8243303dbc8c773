-- Names of NVTX ranges with those around them, once for all that are alike.
--
-- computed: Of the first of the ranges that are alike (_range_parent), the names of those around
--   it, from the outermost on, without what PyTorch writes behind them (seq, op_id, input_op_ids).
-- materialized: Made once for an opened trace, as paths can be long, and many.
-- limits: As of _range_nesting.
-- scope: whole
-- columns:
--   alike_range_id BIGINT: The range, as in _range_parent.
--   path VARCHAR: The names, with " / " between.
--   kind VARCHAR: The same with * for the numbers of steps, as in _step_name.
WITH RECURSIVE ranges AS MATERIALIZED (
    SELECT first.range_id, first.depth, around.alike_range_id AS parent_range_id, steps.kind,
           CASE WHEN contains(span.name, 'op_id') OR contains(span.name, ', seq = ')
                THEN regexp_replace(
                    span.name, ', (seq = \d+|op_id = \d+|input_op_ids = \[[^\]]*\])', '', 'g'
                ) ELSE span.name END AS name
    FROM _range_parent AS first
    JOIN _range_span AS span ON span.range_id = first.range_id
    LEFT JOIN _range_parent AS around ON around.range_id = first.parent_range_id
    LEFT JOIN _step_name AS steps ON steps.name = span.name
    WHERE first.alike_range_id = first.range_id
),
paths AS (
    SELECT range_id, depth, name AS path, coalesce(kind, name) AS kind FROM ranges WHERE depth = 0
    UNION ALL
    SELECT ranges.range_id, ranges.depth, concat(paths.path, ' / ', ranges.name),
           concat(paths.kind, ' / ', coalesce(ranges.kind, ranges.name))
    FROM paths
    JOIN ranges ON ranges.parent_range_id = paths.range_id AND ranges.depth = paths.depth + 1
)
SELECT range_id AS alike_range_id, path, kind
FROM paths
