-- What each NVTX range is called with those around it: the same for all that are alike.
--
-- computed: Of the first of the ranges that are alike (_range_parent), the path without what
--   PyTorch writes behind the names of operators (seq, op_id, input_op_ids).
-- limits: As of _range_nesting.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   path VARCHAR: Names from the outermost on, and its own, with " / " between.
SELECT alike.range_id, first.path
FROM _range_parent AS alike
JOIN (
    SELECT range_id,
           CASE WHEN contains(path, 'op_id') OR contains(path, ', seq = ')
                THEN regexp_replace(
                    path, ', (seq = \d+|op_id = \d+|input_op_ids = \[[^\]]*\])', '', 'g'
                ) ELSE path END AS path
    FROM _range_path
    SEMI JOIN (SELECT alike_range_id AS range_id FROM _range_parent) USING (range_id)
) AS first ON first.range_id = alike.alike_range_id
