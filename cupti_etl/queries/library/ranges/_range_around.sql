-- Each NVTX range, with itself and with each of those around it.
--
-- computed: From _range_parent, from the inside outwards.
-- needs: _range_parent
-- limits: As of _range_nesting.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   around_id BIGINT: The range itself, or one that is around it.
WITH RECURSIVE around AS (
    SELECT range_id, range_id AS around_id FROM _range_parent
    UNION ALL
    SELECT around.range_id, parents.parent_range_id
    FROM around
    JOIN _range_parent AS parents ON parents.range_id = around.around_id
    WHERE parents.parent_range_id IS NOT NULL
)
SELECT range_id, around_id FROM around
