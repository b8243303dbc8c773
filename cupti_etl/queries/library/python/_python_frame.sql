-- Frames of Python stacks, without those of the capture itself.
--
-- computed: python_stack. With --pytorch, the capture calls each module of PyTorch: frames of its
--   own files are left out, and the others are numbered anew. Of _function_frame the line that was
--   being executed is not known.
-- scope: whole
-- columns:
--   python_stack.*
SELECT process_id, stack_id,
       TRY_CAST(row_number() OVER (PARTITION BY process_id, stack_id ORDER BY depth) - 1 AS INTEGER)
           AS depth,
       function, file, line, first_line
FROM (
    SELECT process_id, stack_id, depth, function, file, line, first_line FROM python_stack
    UNION ALL
    SELECT process_id, stack_id, depth, function, file, NULL, first_line FROM _function_frame
)
WHERE coalesce(NOT regexp_matches(file, '/cupti_etl/inprocess/[^/]+$'), true)
