-- What determined the run time: the chain of work and waits that leads to the end, by class.
--
-- computed: Walked back from the last end on each GPU. While the GPU is busy, or has work launched
--   in any stream, the chain is on the GPU. Any other gap, which ended only when the host launched
--   (gap_attribution: more than queued), leads to that call and along the host back to the end of
--   its process's last synchronizing call before it that had work of a GPU to wait for, whence it
--   goes on on the GPU: what ran there meanwhile had slack. A call that waits for its copy is one,
--   too (_blocking_copy), and so is one that frees memory while the GPU works, as cudaFree does.
--   The classes of a GPU add to its span.
-- requires: gpu_activity
--   api_call: no API calls were recorded (capture with --api default), so the host is not seen.
--   launch: no recorded call asked for recorded work, so the host is not seen.
--   _gpu_span
-- materialized: Few rows, of all intervals.
-- limits: One GPU and the process that it waits for at a time: chains over other GPUs and processes
--   end at communication. Waits for events are part of idle, as are gaps of which the call is not
--   known. A GPU that has no others is left out if these are 3 % of its span.
-- front: What would make the run end earlier?
-- first: class, percent, total_ns, slack_ns, gpu
-- alias: critical_path_analysis
-- shared: kernel_name, _kernel_told, _any_api_call
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   class VARCHAR: host, compute, communication, copy, or idle (launched and not begun, or done and
--     the host not back yet from waiting for it).
--   total_ns BIGINT [ns]: Time of the chain in the class.
--   percent DOUBLE [%]: total_ns as a share of the span of the GPU.
--   slack_ns BIGINT [ns]: Time of the GPU in the class beside the chain; 0 for host and idle.
WITH host AS MATERIALIZED (
    SELECT * FROM _host_path
),
edges AS (
    SELECT gpu, work, bits, unnest([start_ns, end_ns]) AS at_ns, unnest([-1, 1]) AS sign
    FROM host
    CROSS JOIN (VALUES ('compute', 1), ('compute_or_communication', 3), ('any', 7))
        AS sets(work, bits)
),
beside AS (
    SELECT edges.gpu, edges.work,
           coalesce(sum(sign * (busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns)), 0)
               AS ns
    FROM edges
    ASOF LEFT JOIN _busy_interval AS busy
        ON busy.gpu = edges.gpu
        AND busy.work_bits = edges.bits
        AND busy.start_ns <= edges.at_ns
    GROUP BY edges.gpu, edges.work
),
-- hm, hmc and ha: work beside the host's part of the path, of the three sets.
totals AS (
    SELECT gpu, span_ns, compute_ns, exposed_communication_ns, exposed_copy_ns,
           coalesce((SELECT sum(end_ns - start_ns) FROM host WHERE host.gpu = busy.gpu), 0)
               AS host_ns,
           coalesce((SELECT ns FROM beside WHERE gpu = busy.gpu AND work = 'compute'), 0) AS hm,
           coalesce((SELECT ns FROM beside
                     WHERE gpu = busy.gpu AND work = 'compute_or_communication'), 0) AS hmc,
           coalesce((SELECT ns FROM beside WHERE gpu = busy.gpu AND work = 'any'), 0) AS ha
    FROM busy_breakdown AS busy
    WHERE EXISTS (SELECT 1 FROM _any_api_call)
        -- Of a process whose calls are not known, there may be no gap with a cause at all.
        AND (idle_ns < 0.03 * span_ns
             OR gpu IN (SELECT gpu FROM _gap_cause WHERE unknown_ns = 0))
),
classes AS (
    SELECT gpu, span_ns, unnest(range(5)) AS place,
           unnest(['host', 'compute', 'communication', 'copy', 'idle']) AS class,
           unnest([host_ns, compute_ns - hm, exposed_communication_ns - (hmc - hm),
                   exposed_copy_ns - (ha - hmc),
                   span_ns - host_ns
                       - (compute_ns + exposed_communication_ns + exposed_copy_ns - ha)])
               AS total_ns,
           unnest([0, hm, hmc - hm, ha - hmc, 0]) AS slack_ns
    FROM totals
)
SELECT gpu, class, TRY_CAST(total_ns AS BIGINT) AS total_ns,
       100.0 * total_ns / nullif(span_ns, 0) AS percent, TRY_CAST(slack_ns AS BIGINT) AS slack_ns
FROM classes
ORDER BY gpu, place;

-- merge
FROM partial
ORDER BY gpu, list_position(['host', 'compute', 'communication', 'copy', 'idle'], class)
