-- NVTX ranges that wait while another thread calls for them, and those around them.
--
-- computed: Ranges of _range_wait, and all around these.
-- requires: marker
-- materialized: Made once for an opened trace, as it goes through all ranges.
-- limits: As of _range_wait.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   is_clear BOOLEAN: Whether it is clear of it, and of all inside, that no other range waits.
WITH RECURSIVE parents AS MATERIALIZED (
    SELECT range_id, parent_range_id FROM _range_parent WHERE parent_range_id IS NOT NULL
),
waits AS (
    SELECT range_id, is_clear FROM _range_wait
    UNION
    SELECT parents.parent_range_id, waits.is_clear
    FROM waits
    JOIN parents ON parents.range_id = waits.range_id
)
SELECT range_id, bool_and(is_clear) AS is_clear
FROM waits
GROUP BY range_id
