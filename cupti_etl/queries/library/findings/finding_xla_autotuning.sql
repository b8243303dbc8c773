-- How long XLA's autotuner tried modules while JAX compiled.
--
-- computed: By GPU, the time from its first activity of _hlo_work in the phase autotuning to the
--   last before one of another phase, summed. The culprits are the modules that took most GPU time.
-- requires: api_call
-- finding: XLA's autotuning tries compiled modules (measured)
-- advice: keep what was found (JAX's compilation cache, --xla_gpu_per_fusion_autotune_cache_dir),
--   set --xla_gpu_autotune_level lower, or run a step before you measure
-- shown: hlo_summary
WITH turns AS (
    SELECT gpu.gpu, phase,
           work.end_ns - CASE WHEN phase IS DISTINCT FROM lag(phase) OVER line THEN work.start_ns
                              ELSE lag(work.end_ns) OVER line END AS turn_ns
    FROM _hlo_work AS work
    JOIN gpu ON gpu.process_id = work.process_id AND gpu.device_id = work.device_id
    WINDOW line AS (
        PARTITION BY work.process_id, work.device_id ORDER BY work.start_ns, work.end_ns, name
    )
),
most AS (
    SELECT hlo_module, sum(end_ns - start_ns) AS gpu_ns
    FROM _hlo_work
    WHERE phase = 'autotuning' AND hlo_module IS NOT NULL
    GROUP BY hlo_module
    ORDER BY gpu_ns DESC, hlo_module
    LIMIT 3
)
SELECT gpu, TRY_CAST(sum(turn_ns) AS BIGINT) AS saved_ns,
       'above all for ' || (
           SELECT string_agg(hlo_module, ', ' ORDER BY gpu_ns DESC, hlo_module) FROM most
       ) AS culprit
FROM turns
WHERE phase = 'autotuning'
GROUP BY gpu
