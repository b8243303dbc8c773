-- How long each GPU was idle while it had work on its queues.
--
-- computed: queued_ns of gap_attribution, in gaps of 20 us and more: shorter ones are what
--   beginning a kernel takes. The culprit is the kernel or copy before which most of it was.
-- needs: _gap_cause, kernel_name
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while it has work on its queues (measured)
-- advice: look at what its streams wait for: events of other streams, other ranks, graph launches
-- shown: gap_attribution
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH waits AS (
    SELECT gpu, coalesce(next_name, next_kind) AS name, sum(queued_ns) AS ns
    FROM _gap_cause
    WHERE gap_ns >= 20000
    GROUP BY ALL
),
most AS (
    SELECT gpu, TRY_CAST(sum(ns) AS BIGINT) AS saved_ns, arg_max(name, ns) AS name
    FROM waits
    GROUP BY gpu
)
SELECT gpu, saved_ns,
       concat('most of it before ', coalesce(
           (SELECT any_value(short) FROM kernel_name WHERE mangled = most.name), most.name
       )) AS culprit
FROM most
