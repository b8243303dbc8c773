-- Steps that are named or well guessed: those that an answer is about unasked, and that runs are
-- compared by.
--
-- computed: Steps with a confidence of 0.3 or more. With less, none of them copies anything back,
--   and a quarter of all kernels is in none; they may be layers.
-- columns:
--   process_id, gpu, step, source, name, start_ns, end_ns of step
--   host_start_ns, host_end_ns, confidence, is_steady of step
FROM step
WHERE confidence >= 0.3
