-- How long each GPU was idle while its host waited for it, and until it had launched again.
--
-- computed: waiting_ns of gap_attribution, and what launching cost in gaps that began so
--   (synchronized_ns of launch_bound). The culprit is the call that waited longest in gaps of
--   the GPU (sync_cost), and the range of its longest wait.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- finding: idle while the host waits for the GPU, and until it has launched again (measured)
-- advice: synchronize less often (item(), print and copies that are not asynchronous do), or launch
--   ahead of it
-- shown: sync_cost
WITH gaps AS (
    SELECT gpu, TRY_CAST(sum(waiting_ns) AS BIGINT) AS waiting_ns FROM _gap_cause GROUP BY gpu
),
names AS (
    SELECT gpu, name, sum(gap_ns) AS gap_ns,
           arg_min({'name': name, 'range': longest_range}, (-gap_ns, longest_start_ns)) AS longest
    FROM sync_cost
    -- What frees while the GPU is idle is in no waiting_ns.
    WHERE reason <> 'frees'
    GROUP BY gpu, name
),
calls AS (
    SELECT gpu, arg_min(longest, (-gap_ns, name)) AS longest FROM names GROUP BY gpu
)
SELECT gaps.gpu, waiting_ns + coalesce(synchronized_ns, 0) AS saved_ns,
       'above all in ' || nullif(concat_ws(' in ', longest.name, longest.range), '') AS culprit
FROM gaps
LEFT JOIN calls ON calls.gpu = gaps.gpu
LEFT JOIN launch_bound AS bound ON bound.gpu = gaps.gpu
