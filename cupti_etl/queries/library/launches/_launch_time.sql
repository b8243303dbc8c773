-- Launches of kernels: how long the call took, the wait on the device's queue, and the kernel.
--
-- computed: Kernels with a known call, of which the return, the start and the end are known. Of a
--   graph launch, the first kernel counts.
-- limits: A long time on the queue is no fault: work that is launched ahead waits there.
-- columns:
--   process_id, device_id, api_name of launch_to_gpu
--   name VARCHAR: Mangled name of the kernel.
--   api_ns BIGINT [ns]: Duration of the call; NULL if its start is not known.
--   queue_ns BIGINT [ns]: From its return to the kernel's start; 0 if the kernel began before.
--   kernel_ns BIGINT [ns]: Duration of the kernel.
--   is_early BOOLEAN: Whether the kernel began before the call returned.
--   waited_ns BIGINT [ns]: From the kernel's begin to the call's return, if the kernel had ended by
--     then; NULL if it had not.
WITH first_of_graph AS (
    SELECT process_id, correlation_id, any_value(api_name) AS api_name,
           api_start_ns, any_value(api_end_ns) AS api_end_ns,
           -- As one: what is not known of the first kernel is not that of another.
           arg_min({'device_id': device_id, 'start_ns': start_ns, 'end_ns': end_ns, 'name': name},
                   start_ns) AS kernel
    FROM launch_to_gpu
    WHERE kind = 'kernel' AND is_graph
    -- The call's begin, too, as ids can begin anew.
    GROUP BY process_id, correlation_id, api_start_ns
)
SELECT process_id, device_id, api_name, name, api_end_ns - api_start_ns AS api_ns,
       greatest(start_ns - api_end_ns, 0) AS queue_ns, end_ns - start_ns AS kernel_ns,
       start_ns < api_end_ns AS is_early,
       CASE WHEN end_ns <= api_end_ns THEN api_end_ns - start_ns END AS waited_ns
FROM (
    SELECT process_id, device_id, api_name, name, api_start_ns, api_end_ns, start_ns, end_ns
    FROM launch_to_gpu
    WHERE kind = 'kernel' AND NOT is_graph
    UNION ALL
    SELECT process_id, kernel.device_id, api_name, kernel.name, api_start_ns, api_end_ns,
           kernel.start_ns, kernel.end_ns
    FROM first_of_graph
)
WHERE api_end_ns IS NOT NULL AND start_ns IS NOT NULL AND end_ns IS NOT NULL
