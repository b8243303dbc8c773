-- How long each GPU was idle, at the start, while code was loaded or compiled, or a graph captured.
--
-- computed: loading_ns of gap_attribution, in gaps that began before the first tenth of the trace's
--   GPU work was over, without what began later in the gap in which that was: what is later is in
--   finding_late_loading, but where there are fewer than 20 kernels. The culprit is the kernel or
--   copy before which most of it was, or, where most of it was that, the capture of graphs.
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- lookup: kernel
-- finding: idle while code is loaded or graphs are captured at the start (measured)
-- advice: it happens once: measure after a warm-up, or load before the first work
--   (CUDA_MODULE_LOADING=EAGER, of AMD HIP_ENABLE_DEFERRED_LOADING=0)
-- shown: jit_module_load
-- label: kernel = kernel(kernel)
WITH steady AS (
    SELECT CASE WHEN count(*) >= 20
                THEN min(start_ns) + (max(start_ns) - min(start_ns)) // 10 END AS from_ns
    FROM kernel
),
-- At most one a GPU.
crossing AS MATERIALIZED (
    SELECT gpu, process_id, start_ns, start_ns + gap_ns AS end_ns
    FROM _gap_cause, steady
    WHERE from_ns > start_ns AND from_ns <= start_ns + gap_ns
),
-- A launch contains the calls that load, so sources are not added.
late AS (
    SELECT gpu, gap.start_ns, source,
           sum(least(load.end_ns, gap.end_ns) - load.start_ns) AS ns
    FROM crossing AS gap
    JOIN _code_load AS load
        ON load.process_id = gap.process_id
        AND load.is_late
        AND load.start_ns < gap.end_ns
    GROUP BY ALL
),
longest AS (
    SELECT gpu, start_ns, max(ns) AS ns
    FROM late
    GROUP BY gpu, start_ns
),
loads AS (
    SELECT gap.gpu, coalesce(next_name, next_kind) AS name,
           sum(greatest(loading_ns - coalesce(longest.ns, 0), 0)) AS ns
    FROM _gap_cause AS gap
    CROSS JOIN steady
    LEFT JOIN longest ON longest.gpu = gap.gpu AND longest.start_ns = gap.start_ns
    WHERE loading_ns > 0 AND coalesce(gap.start_ns < from_ns, true)
    GROUP BY ALL
),
sums AS (
    SELECT gpu, TRY_CAST(sum(ns) AS BIGINT) AS saved_ns, arg_min(name, (-ns, name)) AS kernel
    FROM loads
    GROUP BY gpu
),
gaps AS (
    SELECT gpu, process_id, start_ns, start_ns + gap_ns AS end_ns,
           coalesce(sum(gap_ns) OVER (
               PARTITION BY gpu, process_id ORDER BY start_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), 0) AS before_ns
    FROM _gap_cause
    SEMI JOIN _graph_capture USING (process_id)
),
captures AS (
    SELECT gpu, capture.*
    FROM _graph_capture AS capture
    JOIN (SELECT DISTINCT gpu, process_id FROM gaps) AS used USING (process_id)
    CROSS JOIN steady
    WHERE coalesce(capture.start_ns < from_ns, true)
),
edges AS (
    SELECT gpu, process_id, unnest([start_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM captures
),
captured AS (
    SELECT edges.gpu,
           sum(sign * (before_ns + least(at_ns, gaps.end_ns) - gaps.start_ns)) AS ns
    FROM edges
    ASOF JOIN gaps
        ON gaps.gpu = edges.gpu
        AND gaps.process_id = edges.process_id
        AND gaps.start_ns <= edges.at_ns
    GROUP BY edges.gpu
)
SELECT sums.gpu, saved_ns,
       CASE WHEN captured.gpu IS NULL THEN 'above all before'
            ELSE 'most of it capturing graphs' END AS culprit,
       CASE WHEN captured.gpu IS NULL THEN kernel END AS kernel
FROM sums
LEFT JOIN captured ON captured.gpu = sums.gpu AND 2 * captured.ns > saved_ns
