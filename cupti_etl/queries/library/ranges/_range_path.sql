-- What is around each NVTX range: the range, how many there are, and their names.
--
-- computed: From _range_parent, from the outermost on.
-- materialized: Composed from the names of an opened trace, which are far fewer than ranges.
-- limits: As of _range_nesting.
-- scope: whole
-- columns:
--   range_id, parent_range_id, depth of _range_parent
--   path VARCHAR: Their names from the outermost on, and its own, with " / " between.
WITH RECURSIVE parents AS MATERIALIZED (
    SELECT _range_span.range_id, name, parent_range_id
    FROM _range_span
    JOIN _range_parent ON _range_parent.range_id = _range_span.range_id
),
paths AS (
    SELECT range_id, parent_range_id, 0 AS depth, name AS path
    FROM parents
    WHERE parent_range_id IS NULL
    UNION ALL
    SELECT parents.range_id, parents.parent_range_id, paths.depth + 1,
           concat(paths.path, ' / ', parents.name)
    FROM parents
    JOIN paths ON paths.range_id = parents.parent_range_id
)
SELECT range_id, parent_range_id, depth, path
FROM paths
