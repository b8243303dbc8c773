-- What waiting for launches costs each GPU.
--
-- computed: saved_ns of launch_bound, where it is at least partly launch bound, without
--   synchronized_ns, which is of finding_synchronizing; the culprit is the kernel or copy before
--   which most of it was.
-- requires: api_call, _gpu_span
-- finding: waiting for launches (estimated)
-- advice: capture the work in a CUDA graph (where it is in graphs already, in larger ones),
--   compile it (torch.compile, jax.jit), or launch fewer and larger kernels
-- shown: launch_bound
-- label: kernel = kernel(kernel)
WITH waits AS (
    SELECT gpu, coalesce(next_name, next_kind) AS name,
           sum(launching_ns + CASE WHEN gap_ns < 100000 THEN outside_ns ELSE 0 END) AS ns
    FROM _gap_cause
    WHERE NOT is_after_wait
    GROUP BY ALL
),
most AS (
    SELECT gpu, arg_min(name, (-ns, name)) AS name FROM waits GROUP BY gpu
)
SELECT bound.gpu, saved_ns - synchronized_ns AS saved_ns,
       concat(verdict, ', above all before') AS culprit, most.name AS kernel
FROM launch_bound AS bound
LEFT JOIN most ON most.gpu = bound.gpu
WHERE verdict IN ('launch bound', 'partly launch bound')
