-- Processes of which Python stacks are known.
--
-- computed: Those of launch_stack and of _python_span.
-- rare: Most traces have none, and what is by stacks looks at all activities.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT process_id FROM launch_stack
UNION
SELECT process_id FROM _python_span
