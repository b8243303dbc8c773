-- Idle time of each GPU by cause, and the kernel or copy before which most of it was.
--
-- computed: Sums of _gap_cause. Time outside CUDA counts in gaps of 100 us and more: what is
--   shorter is launching; queued time where it is 20 us and more: what is shorter is what beginning
--   a kernel takes, also at the end of a gap that the host caused.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   state VARCHAR: outside or queued, as in _gap_cause.
--   idle_ns BIGINT [ns]: Idle time for that cause.
--   kernel VARCHAR: Mangled name of the kernel that was waited for most, or what else it was;
--     NULL if that is not known.
WITH parts AS (
    SELECT gpu, 'outside' AS state, coalesce(next_name, next_kind) AS name, outside_ns AS ns
    FROM _gap_cause
    WHERE gap_ns >= 100000
    UNION ALL
    SELECT gpu, 'queued', coalesce(next_name, next_kind), queued_ns
    FROM _gap_cause
    WHERE queued_ns >= 20000
),
waits AS (
    SELECT gpu, state, name, sum(ns) AS ns FROM parts GROUP BY gpu, state, name
)
SELECT gpu, state, TRY_CAST(sum(ns) AS BIGINT) AS idle_ns, arg_min(name, (-ns, name)) AS kernel
FROM waits
GROUP BY gpu, state
