-- Frames of Python stacks, without those of the capture itself.
--
-- computed: python_stack. With --pytorch, the capture calls each module of PyTorch: frames of its
--   own files are left out, and the others are numbered anew. Of stacks that are ranges
--   (_call_stack), those that tell their file, of which the line that was executed is not known.
-- materialized: Made once for an opened trace, as frames are looked for outwards.
-- scope: whole
-- columns:
--   process_id BIGINT: The traced process.
--   stack_id BIGINT: The stack, as in launch_stack.
--   depth INTEGER: 0 for the innermost frame.
--   function VARCHAR: The function's qualified name.
--   file VARCHAR: The file.
--   line INTEGER: The line that was being executed; NULL if it is not known.
--   first_line INTEGER: The first line of the function.
WITH RECURSIVE nesting AS MATERIALIZED (
    SELECT range_id, parent_range_id FROM _range_parent
),
stacks AS MATERIALIZED (
    SELECT DISTINCT process_id, stack_id
    FROM _call_stack
    ANTI JOIN launch_stack USING (process_id)
    WHERE stack_id IS NOT NULL
),
around AS (
    SELECT process_id, stack_id, stack_id AS range_id, 0 AS depth FROM stacks
    UNION ALL
    SELECT process_id, stack_id, parent_range_id, depth + 1
    FROM around
    JOIN nesting USING (range_id)
    WHERE parent_range_id IS NOT NULL
),
frames AS (
    SELECT process_id, stack_id, depth, function, file, line, first_line FROM python_stack
    UNION ALL
    SELECT around.process_id, stack_id, depth, told.function, told.file, NULL,
           TRY_CAST(told.line AS INTEGER)
    FROM around
    JOIN (
        SELECT range_id, regexp_extract(name, '(.*?)\((\d+)\): (.*)',
                                        ['file', 'line', 'function']) AS told
        FROM _range_span
        WHERE domain = 'python_function'
    ) USING (range_id)
    WHERE told.line != ''
)
SELECT process_id, stack_id,
       TRY_CAST(row_number() OVER (PARTITION BY process_id, stack_id ORDER BY depth) - 1 AS INTEGER)
           AS depth,
       function, file, line, first_line
FROM frames
WHERE coalesce(NOT regexp_matches(file, '/cupti_etl/inprocess/[^/]+$'), true)
