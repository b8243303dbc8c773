-- Frames of the stacks of _function_stack, from the innermost outwards.
--
-- computed: The ranges around the innermost one that tell their file, as FILE(LINE): FUNCTION does.
-- requires: marker, _python_span
-- materialized: Made once for an opened trace, as they are looked for outwards.
-- scope: whole
-- columns:
--   process_id, stack_id of _function_stack
--   depth INTEGER: Ranges of all kinds inside of it.
--   function VARCHAR: The function's name.
--   file VARCHAR: The file, as the trace has it.
--   first_line INTEGER: The first line of the function.
WITH RECURSIVE nesting AS MATERIALIZED (
    SELECT range_id, parent_range_id FROM _range_parent
),
around AS (
    SELECT DISTINCT process_id, stack_id, stack_id AS range_id, 0 AS depth
    FROM _function_stack
    WHERE stack_id IS NOT NULL
    UNION ALL
    SELECT process_id, stack_id, parent_range_id, depth + 1
    FROM around
    JOIN nesting USING (range_id)
    WHERE parent_range_id IS NOT NULL
)
SELECT around.process_id, stack_id, depth, told.function, told.file,
       TRY_CAST(told.line AS INTEGER) AS first_line
FROM around
JOIN (
    SELECT range_id, regexp_extract(name, '(.*?)\((\d+)\): (.*)',
                                    ['file', 'line', 'function']) AS told
    FROM _range_span
    WHERE domain = 'python_function'
) USING (range_id)
WHERE told.line != ''
