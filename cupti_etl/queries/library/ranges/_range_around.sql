-- Each NVTX range, with itself and with each of those around it.
--
-- computed: From _range_parent, from the inside outwards; around a range of autograd is the one of
--   another thread that clearly waits for it (_range_wait).
-- limits: As of _range_nesting and _range_wait.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   around_id BIGINT: The range itself, or one that is around it.
WITH RECURSIVE outwards AS MATERIALIZED (
    SELECT range_id, parent_range_id AS around_id
    FROM _range_parent
    WHERE parent_range_id IS NOT NULL
    UNION ALL
    SELECT DISTINCT asking_range_id, range_id
    FROM _range_wait
    WHERE is_clear AND asking_range_id IS NOT NULL
),
around AS (
    SELECT range_id, range_id AS around_id FROM _range_parent
    UNION ALL
    SELECT around.range_id, outwards.around_id
    FROM around
    JOIN outwards ON outwards.range_id = around.around_id
)
SELECT range_id, around_id FROM around
