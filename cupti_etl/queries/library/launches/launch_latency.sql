-- How long launches take: in the call, waiting on the device's queue, and running.
--
-- computed: Per kernel name, over kernels with a known call: the call's duration; the time from
--   its return to the kernel's start, 0 where the kernel began before the call returned; the
--   kernel's duration. Of a graph launch, the first kernel counts.
-- needs: launch_to_gpu, kernel_name
-- requires:
--   api_call: no API calls were recorded (capture with --api default).
--   launch_to_gpu: no activity has a recorded call.
-- stored: Made in one sweep over calls and kernels.
-- limits: A long time on the queue is no fault: work that is launched ahead waits there.
-- columns:
--   api_name VARCHAR: Function called.
--   name VARCHAR: Function name of the kernel.
--   launches BIGINT [launches]: Launches with known times.
--   api_median_ns DOUBLE [ns]: Median duration of the call.
--   api_p99_ns DOUBLE [ns]: 99th percentile of it.
--   queue_median_ns DOUBLE [ns]: Median time on the queue.
--   queue_p99_ns DOUBLE [ns]: 99th percentile of it.
--   kernel_median_ns DOUBLE [ns]: Median duration of the kernel.
--   kernel_p99_ns DOUBLE [ns]: 99th percentile of it.
--   started_early BIGINT [launches]: Kernels that began before their call returned.
--   shorter_than_call BIGINT [launches]: Kernels that ran for less time than their call.
WITH first_of_graph AS (
    SELECT process_id, correlation_id, any_value(api_name) AS api_name,
           any_value(api_start_ns) AS api_start_ns, any_value(api_end_ns) AS api_end_ns,
           min(start_ns) AS start_ns, arg_min(end_ns, start_ns) AS end_ns,
           arg_min(name, start_ns) AS name
    FROM launch_to_gpu
    WHERE kind = 'kernel' AND graph_node_id IS NOT NULL
    GROUP BY process_id, correlation_id
),
launches AS (
    SELECT api_name, name, api_end_ns - api_start_ns AS api_ns,
           greatest(start_ns - api_end_ns, 0) AS queue_ns, end_ns - start_ns AS kernel_ns,
           start_ns < api_end_ns AS is_early
    FROM (
        SELECT api_name, name, api_start_ns, api_end_ns, start_ns, end_ns
        FROM launch_to_gpu
        WHERE kind = 'kernel' AND graph_node_id IS NULL
        UNION ALL
        SELECT api_name, name, api_start_ns, api_end_ns, start_ns, end_ns FROM first_of_graph
    )
    WHERE api_end_ns IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL
),
names AS (
    SELECT mangled, any_value(short) AS short FROM kernel_name GROUP BY mangled
)
SELECT api_name, coalesce(any_value(short), launches.name) AS name, count(*) AS launches,
       median(api_ns) AS api_median_ns, quantile_cont(api_ns, 0.99) AS api_p99_ns,
       median(queue_ns) AS queue_median_ns, quantile_cont(queue_ns, 0.99) AS queue_p99_ns,
       median(kernel_ns) AS kernel_median_ns, quantile_cont(kernel_ns, 0.99) AS kernel_p99_ns,
       count(*) FILTER (WHERE is_early) AS started_early,
       count(*) FILTER (WHERE kernel_ns < api_ns) AS shorter_than_call
FROM launches
LEFT JOIN names ON names.mangled = launches.name
GROUP BY api_name, launches.name
ORDER BY count(*) DESC, api_name, launches.name
