-- How long each GPU communicated and did nothing else.
--
-- computed: exposed_communication_ns of busy_breakdown, without what is known to be waiting for
--   other ranks (_exposed_wait), which has findings of its own. The culprit is the collective
--   operation with most exposed time on the GPU; it is said where it is not known how long it
--   waits, of sends and receives, and for ranks that are not in the trace or were not chosen.
-- requires: _gpu_span
-- finding: busy with nothing but communication (measured)
-- advice: overlap it with compute: other streams, smaller buckets, later waits
-- shown: busy_breakdown
WITH most AS (
    SELECT gpu, arg_min(collective, (-exposed_ns, collective)) AS collective
    FROM (SELECT gpu, collective, sum(exposed_ns) AS exposed_ns FROM collective GROUP BY ALL)
    GROUP BY gpu
)
SELECT busy.gpu, greatest(0, exposed_communication_ns - coalesce(wait_ns, 0)) AS saved_ns,
       'above all ' || collective
           || CASE WHEN collective = 'SendRecv' AND NOT EXISTS (FROM _nccl_pair)
                   THEN ' (with waiting for its other end)'
                   WHEN EXISTS (FROM _rank_missing)
                   THEN ' (with waiting for ranks that are not in the trace)'
                   WHEN (SELECT max(world_size) > count(DISTINCT rank) FROM process
                         WHERE rank IS NOT NULL)
                   THEN ' (with waiting for ranks that were not chosen)'
                   ELSE '' END AS culprit
FROM busy_breakdown AS busy
LEFT JOIN most USING (gpu)
LEFT JOIN (
    SELECT gpu, TRY_CAST(sum(wait_ns) AS BIGINT) AS wait_ns FROM _exposed_wait GROUP BY gpu
) AS waits USING (gpu)
