-- What each NVTX range asked of each GPU by itself, and what it has of a range of autograd.
--
-- computed: _range_own, once more for the range that clearly waits for a range of autograd
--   (_range_wait).
-- requires: marker
-- limits: As of range_gpu.
-- columns:
--   range_id, gpu, activities, gpu_ns of _range_own
--   exclusive_activities BIGINT [activities]: Activities of the range itself.
--   exclusive_gpu_ns BIGINT [ns]: Sum of their durations.
--   start_ns, end_ns, kernels, kernel_ns, kernel_max_ns, copies, copied_bytes, sets of _range_own
SELECT range_id, gpu, activities, gpu_ns, activities AS exclusive_activities,
       gpu_ns AS exclusive_gpu_ns, start_ns, end_ns, kernels, kernel_ns, kernel_max_ns, copies,
       copied_bytes, sets
FROM _range_own
UNION ALL
SELECT outermost.range_id, own.gpu, own.activities, own.gpu_ns, 0, 0, own.start_ns, own.end_ns,
       own.kernels, own.kernel_ns, own.kernel_max_ns, own.copies, own.copied_bytes, own.sets
FROM _range_own AS own
JOIN _range_span AS span ON span.range_id = own.range_id
ASOF JOIN _range_outermost AS outermost
    ON outermost.process_id = span.process_id
    AND outermost.thread_id = span.thread_id
    AND outermost.start_ns <= span.start_ns
WHERE outermost.range_id IS NOT NULL
