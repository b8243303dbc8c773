-- How long each GPU copied or set memory and did nothing else.
--
-- computed: exposed_copy_ns of busy_breakdown, of GPUs on which kernels ran: without any, copying
--   is all that was asked of them. The culprit is the kind of copy that was longest on the GPU
--   without a kernel, with the kind of memory of the host, or memsets, where copies were less than
--   half of it.
-- requires: _gpu_span
-- finding: busy with nothing but copies and memsets (measured)
-- advice: copy and set less often, and keep on the GPU what kernels use again (in JAX, jax.jit
--   copies what it updates unless donate_argnums names it); copy between the host and the GPU from
--   and to pinned memory, in a stream of its own while kernels run
-- shown: busy_breakdown
WITH kinds AS (
    SELECT gpu, sum(coalesce(ns, -beside_ns)) AS alone_ns,
           copy_kind || coalesce(
               CASE WHEN copy_kind LIKE 'H%' THEN ' from ' || src_kind || ' memory'
                    WHEN copy_kind LIKE '%H' THEN ' to ' || dst_kind || ' memory' END, ''
           ) AS kind
    FROM (FROM _copy WHERE ns > 0 UNION ALL BY NAME FROM _copy_beside)
    GROUP BY gpu, kind
),
copies AS (
    SELECT gpu, sum(alone_ns) AS alone_ns, arg_min(kind, (-alone_ns, kind)) AS kind
    FROM kinds
    GROUP BY gpu
)
SELECT busy.gpu, exposed_copy_ns AS saved_ns,
       'above all ' || CASE WHEN 2 * coalesce(copies.alone_ns, 0) < exposed_copy_ns THEN 'memsets'
                             ELSE copies.kind END AS culprit
FROM busy_breakdown AS busy
LEFT JOIN copies ON copies.gpu = busy.gpu
WHERE compute_ns + exposed_communication_ns > 0
