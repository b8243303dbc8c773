-- How long each GPU was idle while its host waited for it.
--
-- computed: waiting_ns of gap_attribution. The culprit is the call that waited longest in gaps of
--   the GPU (sync_cost), and the range of its longest wait.
-- needs: _gap_cause, sync_cost
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- finding: idle while the host waits for the GPU (measured)
-- advice: synchronize less often (item(), print and copies that are not asynchronous do), or launch
--   ahead of it
-- shown: gap_attribution
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
WITH gaps AS (
    SELECT gpu, TRY_CAST(sum(waiting_ns) AS BIGINT) AS saved_ns FROM _gap_cause GROUP BY gpu
),
calls AS (
    SELECT gpu, arg_min({'name': name, 'range': longest_range}, (-gap_ns, name)) AS longest
    FROM sync_cost
    -- What frees while the GPU is idle is in no waiting_ns.
    WHERE reason <> 'frees'
    GROUP BY gpu
)
SELECT gaps.gpu, saved_ns, concat_ws(' in ', longest.name, longest.range) AS culprit
FROM gaps
LEFT JOIN calls ON calls.gpu = gaps.gpu
