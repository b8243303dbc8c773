-- What is around each NVTX range, and which other ranges are alike.
--
-- computed: From _range_nesting. Ranges are alike that have the same name and lie in ranges that
--   are alike, whatever PyTorch writes behind the names of operators (seq, op_id, input_op_ids).
-- materialized: Made once for an opened trace, in one pass with a stack.
-- limits: As of _range_nesting.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   parent_range_id BIGINT: The range around it; NULL if there is none.
--   depth INTEGER [ranges]: Ranges around it.
--   alike_range_id BIGINT: The first of all ranges that are alike, by their numbers.
WITH RECURSIVE ranges AS MATERIALIZED (
    SELECT _range_span.range_id, around_id AS parent_range_id,
           CASE WHEN contains(name, 'op_id') OR contains(name, ', seq = ')
                THEN regexp_replace(
                    name, ', (seq = \d+|op_id = \d+|input_op_ids = \[[^\]]*\])', '', 'g'
                ) ELSE name END AS kind
    FROM _range_span
    JOIN _range_nesting ON _range_nesting.range_id = _range_span.range_id
),
placed AS (
    SELECT range_id, parent_range_id, 0 AS depth, [kind] AS kinds
    FROM ranges
    WHERE parent_range_id IS NULL
    UNION ALL
    SELECT ranges.range_id, ranges.parent_range_id, placed.depth + 1,
           list_append(placed.kinds, ranges.kind)
    FROM ranges
    JOIN placed ON placed.range_id = ranges.parent_range_id
)
SELECT range_id, parent_range_id, depth, min(range_id) OVER (PARTITION BY kinds) AS alike_range_id
FROM placed
