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
--   start_ns, end_ns of _range_own
WITH waits AS (
    SELECT wait.process_id, wait.thread_id, span.start_ns, span.end_ns, wait.range_id
    FROM _range_wait AS wait
    JOIN _range_span AS span ON span.range_id = wait.asking_range_id
    WHERE is_clear
)
SELECT range_id, gpu, activities, gpu_ns, activities AS exclusive_activities,
       gpu_ns AS exclusive_gpu_ns, start_ns, end_ns
FROM _range_own
UNION ALL
SELECT waits.range_id, own.gpu, own.activities, own.gpu_ns, 0, 0, own.start_ns, own.end_ns
FROM _range_own AS own
JOIN _range_span AS span ON span.range_id = own.range_id
ASOF JOIN waits
    ON waits.process_id = span.process_id
    AND waits.thread_id = span.thread_id
    AND waits.start_ns <= span.start_ns
WHERE span.start_ns < coalesce(waits.end_ns, 9223372036854775807)
