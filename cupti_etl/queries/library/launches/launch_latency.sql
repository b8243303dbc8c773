-- How long launches take: in the call, waiting on the device's queue, and running.
--
-- computed: Per kernel name, over kernels with a known call: the call's duration; the time from
--   its return to the kernel's start, 0 where the kernel began before the call returned; the
--   kernel's duration. Of a graph launch, the first kernel counts.
-- requires: api_call, launch_to_gpu
-- materialized: Computed over all launches.
-- limits: A long time on the queue is no fault: work that is launched ahead waits there.
-- label: name = kernel(demangled)
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
--   demangled VARCHAR: Name with template and call arguments.
SELECT api_name, coalesce(any_value(short), _launch_time.name) AS name, count(*) AS launches,
       median(api_ns) AS api_median_ns, quantile_cont(api_ns, 0.99) AS api_p99_ns,
       median(queue_ns) AS queue_median_ns, quantile_cont(queue_ns, 0.99) AS queue_p99_ns,
       median(kernel_ns) AS kernel_median_ns, quantile_cont(kernel_ns, 0.99) AS kernel_p99_ns,
       count(*) FILTER (WHERE is_early) AS started_early,
       count(*) FILTER (WHERE kernel_ns < api_ns) AS shorter_than_call,
       coalesce(any_value(demangled), _launch_time.name) AS demangled
FROM _launch_time
LEFT JOIN _readable_name AS names ON names.mangled = _launch_time.name
GROUP BY api_name, _launch_time.name
ORDER BY count(*) DESC, api_name, _launch_time.name
