-- How long each GPU was idle while its host allocated, freed or copied.
--
-- computed: memory_ns of gap_attribution. The culprit is the kernel or copy before which most of
--   it was.
-- needs: _gap_cause, kernel_name
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while its host allocates, frees or copies (measured)
-- advice: allocate once and reuse, or use a pool
-- shown: gap_attribution
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH waits AS (
    SELECT gpu, coalesce(next_name, next_kind) AS name, sum(memory_ns) AS ns
    FROM _gap_cause
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
