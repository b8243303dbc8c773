-- Where the time of each GPU went: compute, communication and copies that nothing hid, and idle.
--
-- computed: Lengths of unions, each without those before it: compute; communication while no
--   compute ran; copies and memsets while neither ran; idle is the rest of the span. The four add
--   to span_ns, and their percentages to 100.
-- requires: _gpu_span
-- limits: The span is from the first start to the last end on the GPU; idle time before and after
--   it is not seen. Communication is known by the names of kernels.
-- front: Where did the time of each GPU go: compute, communication, copies, idle?
-- first: gpu, compute_pct, exposed_communication_pct, exposed_copy_pct, idle_pct, span_ns,
--   device_name
-- alias: get_temporal_breakdown
-- shared: kernel_name, _kernel_told
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   device_name VARCHAR: Product name; NULL if no device record is known.
--   host VARCHAR: Host of a process that used it.
--   compute_pct DOUBLE [%]: compute_ns as a share of span_ns.
--   exposed_communication_pct DOUBLE [%]: exposed_communication_ns as a share of span_ns.
--   exposed_copy_pct DOUBLE [%]: exposed_copy_ns as a share of span_ns.
--   idle_pct DOUBLE [%]: idle_ns as a share of span_ns.
--   compute_ns BIGINT [ns]: Time with a kernel that is not communication.
--   exposed_communication_ns BIGINT [ns]: Time with communication and no compute.
--   exposed_copy_ns BIGINT [ns]: Time with a copy or memset, and neither of these.
--   idle_ns BIGINT [ns]: Time with nothing.
--   span_ns BIGINT [ns]: From the first start to the last end.
--   start_ns BIGINT [epoch ns]: First start.
--   end_ns BIGINT [epoch ns]: Last end.
WITH sums AS (
    SELECT gpu,
           TRY_CAST(coalesce(sum(end_ns - start_ns) FILTER (WHERE work = 'any'), 0) AS BIGINT)
               AS any_ns,
           TRY_CAST(coalesce(sum(end_ns - start_ns)
                    FILTER (WHERE work = 'compute_or_communication'), 0) AS BIGINT) AS gpu_work_ns,
           TRY_CAST(coalesce(sum(end_ns - start_ns) FILTER (WHERE work = 'compute'), 0) AS BIGINT)
               AS compute_ns
    FROM _busy_interval
    GROUP BY gpu
),
spans AS (
    SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS span_ns
    FROM _gpu_span
    GROUP BY gpu
),
-- A GPU that does nothing in a scope was idle in all of it.
times AS (
    SELECT spans.*, coalesce(any_ns, 0) AS any_ns, coalesce(gpu_work_ns, 0) AS gpu_work_ns,
           coalesce(compute_ns, 0) AS compute_ns
    FROM spans
    LEFT JOIN sums ON sums.gpu = spans.gpu
),
labels AS (
    SELECT gpu, any_value(device_name) AS device_name, min(host) AS host FROM gpu GROUP BY gpu
)
SELECT times.gpu, device_name, host,
       100.0 * compute_ns / nullif(span_ns, 0) AS compute_pct,
       100.0 * (gpu_work_ns - compute_ns) / nullif(span_ns, 0) AS exposed_communication_pct,
       100.0 * (any_ns - gpu_work_ns) / nullif(span_ns, 0) AS exposed_copy_pct,
       100.0 * (span_ns - any_ns) / nullif(span_ns, 0) AS idle_pct,
       compute_ns, gpu_work_ns - compute_ns AS exposed_communication_ns,
       any_ns - gpu_work_ns AS exposed_copy_ns, span_ns - any_ns AS idle_ns,
       span_ns, start_ns, end_ns
FROM times
LEFT JOIN labels ON labels.gpu = times.gpu
ORDER BY times.gpu;

-- merge
FROM partial
ORDER BY gpu
