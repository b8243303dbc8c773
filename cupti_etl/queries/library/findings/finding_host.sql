-- How long each GPU was idle while its host was outside CUDA.
--
-- computed: outside_ns of gap_attribution, in gaps of 100 us and more: what is shorter is
--   launching. The culprit is waiting for input (_input_range) where that is most of it, else the
--   range of the host in which most of it was, and where there is none the kernel or copy before
--   which most of it was.
-- needs: _idle_culprit, _idle_cause, _outside_range
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while the host is outside CUDA (measured)
-- advice: look at what the host does there: input, Python, other processes
-- shown: gap_attribution
-- label: kernel = kernel(kernel)
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; a kernel, if it ends with one, is in the next column.
--   kernel VARCHAR: Mangled name of that kernel, or what else it is; NULL if that is not known.
WITH inputs AS (
    SELECT gpu, sum(input_ns) AS input_ns FROM _idle_cause WHERE gap_ns >= 100000 GROUP BY gpu
)
SELECT parts.gpu, idle_ns AS saved_ns,
       CASE WHEN 2 * input_ns > idle_ns THEN 'most of it waits for input'
            WHEN ranges.name IS NOT NULL THEN 'most of it in ' || ranges.name
            ELSE 'most of it before' END AS culprit,
       CASE WHEN NOT coalesce(2 * input_ns > idle_ns, false) AND ranges.name IS NULL
            THEN kernel END AS kernel
FROM _idle_culprit AS parts
LEFT JOIN inputs ON inputs.gpu = parts.gpu
LEFT JOIN _outside_range AS ranges ON ranges.gpu = parts.gpu
WHERE state = 'outside'
