-- Python stacks of launches by which Triton or Inductor tries out a kernel.
--
-- computed: A function of theirs that benchmarks is in it, and none that makes its inputs.
-- scope: whole
-- columns:
--   process_id, stack_id of python_stack
SELECT process_id, stack_id
FROM python_stack
GROUP BY process_id, stack_id
HAVING bool_or(
        regexp_matches(file, '/(triton|torch/_inductor)/')
        AND regexp_matches(function, '(^|\.)(_bench|bench|do_bench\w*|benchmark\w*)$')
    )
    AND NOT bool_or(regexp_matches(
        function, '(^|\.)(rand_strided|get_args|get_inputs|generate_example_value)$'
    ))
