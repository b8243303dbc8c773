-- Names of the ranges around the work of the GPUs, of each kind of ranges once.
--
-- computed: Of the ranges that asked for work (range_gpu) the first of those that are alike, with
--   the names of those around it, from the outermost on, without what PyTorch writes behind them.
-- materialized: Made once for an opened trace, as paths can be long, and many.
-- limits: As of range_gpu.
-- scope: whole
-- columns:
--   alike_range_id BIGINT: The range, as in _range_parent.
--   path VARCHAR: The names, with " / " between.
WITH RECURSIVE working AS (
    SELECT DISTINCT alike_range_id
    FROM (SELECT DISTINCT range_id FROM range_gpu)
    JOIN _range_parent USING (range_id)
),
ranges AS MATERIALIZED (
    SELECT first.range_id, first.depth, around.alike_range_id AS parent_range_id,
           CASE WHEN contains(name, 'op_id') OR contains(name, ', seq = ')
                THEN regexp_replace(
                    name, ', (seq = \d+|op_id = \d+|input_op_ids = \[[^\]]*\])', '', 'g'
                ) ELSE name END AS kind
    FROM working
    JOIN _range_parent AS first ON first.range_id = working.alike_range_id
    JOIN _range_span AS span ON span.range_id = working.alike_range_id
    LEFT JOIN _range_parent AS around ON around.range_id = first.parent_range_id
),
paths AS (
    SELECT range_id, depth, kind AS path FROM ranges WHERE depth = 0
    UNION ALL
    SELECT ranges.range_id, ranges.depth, concat(paths.path, ' / ', ranges.kind)
    FROM paths
    JOIN ranges ON ranges.parent_range_id = paths.range_id AND ranges.depth = paths.depth + 1
)
SELECT range_id AS alike_range_id, path
FROM paths
