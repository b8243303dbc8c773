-- Why each GPU was idle: all gaps, each split among its causes, which add to its length.
--
-- computed: As gap_attribution says.
-- materialized: Made once for an opened trace, as several queries read it.
-- lookup: _stream_span
-- columns:
--   gpu, process_id, start_ns of _gap_spent
--   gap_ns BIGINT [ns]: Length of the gap; the sum of the following.
--   queued_ns BIGINT [ns]: Work was launched and did not begin.
--   profiler_ns, loading_ns, waiting_ns, memory_ns, launching_ns, other_cuda_ns of _gap_spent
--   outside_ns BIGINT [ns]: The host was not in CUDA: Python, input, other work.
--   unknown_ns BIGINT [ns]: The call that asked for the next activity was not recorded, or it was
--     queued behind work that may not have been.
--   cause VARCHAR: The largest of these.
--   is_after_wait of _gap_spent
--   next_kind VARCHAR: Kind of the activity that ended the gap.
--   next_name VARCHAR: Its name, as in gpu_activity.
WITH begun AS (
    -- PyTorch's profiler begins while its program runs, and has no work from before.
    SELECT DISTINCT gpu, start_ns AS at_ns
    FROM _stream_span
    WHERE EXISTS (FROM capture WHERE source = 'import of kineto')
),
parts AS (
    SELECT spent.*, start_ns + gap_ns - split_ns AS left_ns,
           CASE WHEN NOT is_known THEN gap_ns
                -- Beginning a kernel takes less.
                WHEN begun.at_ns IS NOT NULL AND left_ns >= 20000 THEN left_ns ELSE 0 END
               AS unknown_ns,
           CASE WHEN unknown_ns > 0 THEN 0 ELSE left_ns END AS queued_ns,
           split_ns - start_ns - profiler_ns - loading_ns - waiting_ns - memory_ns - launching_ns
               - other_cuda_ns AS outside_ns
    FROM _gap_spent AS spent
    LEFT JOIN begun ON begun.gpu = spent.gpu AND begun.at_ns = spent.start_ns + spent.gap_ns
)
SELECT gpu, process_id, start_ns, gap_ns, queued_ns, profiler_ns, loading_ns, waiting_ns,
       memory_ns, launching_ns, other_cuda_ns, outside_ns, unknown_ns,
       CASE greatest(queued_ns, profiler_ns, loading_ns, waiting_ns, memory_ns, launching_ns,
                     other_cuda_ns, outside_ns, unknown_ns)
           WHEN queued_ns THEN 'queued' WHEN profiler_ns THEN 'profiler'
           WHEN loading_ns THEN 'loading' WHEN waiting_ns THEN 'waiting'
           WHEN memory_ns THEN 'memory' WHEN launching_ns THEN 'launching'
           WHEN other_cuda_ns THEN 'other CUDA' WHEN outside_ns THEN 'outside CUDA'
           ELSE 'unknown' END AS cause,
       is_after_wait, next_kind, next_name
FROM parts
