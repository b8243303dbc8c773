-- Idle time of each GPU by cause, and the kernel or copy before which most of it was.
--
-- computed: Sums of _gap_cause. Time outside CUDA counts in gaps of 100 us and more: what is
--   shorter is launching; queued time in those of 20 us and more: shorter ones are what beginning
--   a kernel takes.
-- needs: _gap_cause, kernel_name
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   state VARCHAR: outside, queued or memory, as in _gap_cause.
--   idle_ns BIGINT [ns]: Idle time for that cause.
--   culprit VARCHAR: What was waited for most; NULL if that is not known.
WITH parts AS (
    SELECT gpu, 'outside' AS state, coalesce(next_name, next_kind) AS name, outside_ns AS ns
    FROM _gap_cause
    WHERE gap_ns >= 100000
    UNION ALL
    SELECT gpu, 'queued', coalesce(next_name, next_kind), queued_ns
    FROM _gap_cause
    WHERE gap_ns >= 20000
    UNION ALL
    SELECT gpu, 'memory', coalesce(next_name, next_kind), memory_ns
    FROM _gap_cause
),
waits AS (
    SELECT gpu, state, name, sum(ns) AS ns FROM parts GROUP BY gpu, state, name
),
most AS (
    SELECT gpu, state, TRY_CAST(sum(ns) AS BIGINT) AS idle_ns, arg_min(name, (-ns, name)) AS name
    FROM waits
    GROUP BY gpu, state
)
SELECT gpu, state, idle_ns,
       concat('most of it before ', coalesce(
           (SELECT any_value(short) FROM kernel_name WHERE mangled = most.name), most.name
       )) AS culprit
FROM most
