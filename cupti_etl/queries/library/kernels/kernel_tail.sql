-- Kernels whose slowest runs are far from the usual ones, and the slowest run of each.
--
-- computed: From _kernel_shape. The score of the slowest is (duration - median) / (1.4826 * median
--   absolute deviation). lost_ns is what runs above twice the median took beyond it, unless they
--   are a tenth of all and more: that is other work, of kernels that have one launch shape for all
--   sizes.
-- requires: kernel
-- limits: Names and shapes with fewer than min_calls executions are left out.
-- label: name = kernel(demangled, grid, block)
-- parameters:
--   min_calls BIGINT = 20 [executions]: Fewest executions of a name and shape.
-- columns:
--   name, grid, calls, p50_ns, p90_ns, p99_ns, p999_ns of _kernel_shape
--   tail_ratio DOUBLE: p99_ns divided by p50_ns.
--   lost_ns BIGINT [ns]: Time beyond the median in runs of more than twice the median; 0 if a tenth
--     of all is so long.
--   max_ns BIGINT [ns]: Longest duration.
--   score DOUBLE: How far the longest is from the median; NULL if half of all are alike.
--   worst_start_ns, worst_stream_id, worst_correlation_id of _kernel_shape
--   previous_name, process_id, block, demangled of _kernel_shape
SELECT name, grid, calls, p50_ns, p90_ns, p99_ns, p999_ns, p99_ns / nullif(p50_ns, 0) AS tail_ratio,
       coalesce(list_sum(lost_ns), 0)::BIGINT AS lost_ns,
       max_ns, (max_ns - p50_ns) / nullif(1.4826 * mad_ns, 0) AS score, worst_start_ns,
       worst_stream_id, worst_correlation_id, previous_name, process_id,
       block, demangled
FROM _kernel_shape
WHERE calls >= min_calls
ORDER BY lost_ns DESC, tail_ratio DESC, name, grid, demangled, block
