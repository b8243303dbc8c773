-- Time in which code was compiled or loaded, or a CUDA graph captured; how much after the start.
--
-- computed: Rows of jit, of overhead (compiler, module and lazy function loading; libraries that
--   are opened), API calls that load or link code, launches that loaded their kernel, and captures
--   of graphs (_code_load), by source and name. Times are sums; a launch contains the calls that
--   load, and these the overhead that they cause. Late is what began after the first tenth of the
--   trace's GPU work.
-- none: no code was loaded or compiled, as far as was recorded.
-- limits: What was not recorded is not seen: overhead and jit are not among the kinds that a
--   capture records by default.
-- label: name = kernel(name)
-- columns:
--   source, name of _code_load
--   count BIGINT [events]: How many began and ended at known times.
--   total_ns BIGINT [ns]: Sum of their durations.
--   max_ns BIGINT [ns]: Longest.
--   late BIGINT [events]: Of these, how many began late.
--   late_ns BIGINT [ns]: Sum of their durations.
SELECT source, name, count(end_ns - start_ns) AS count,
       TRY_CAST(coalesce(sum(end_ns - start_ns), 0) AS BIGINT) AS total_ns,
       max(end_ns - start_ns) AS max_ns,
       count(end_ns) FILTER (WHERE is_late) AS late,
       TRY_CAST(coalesce(sum(end_ns - start_ns) FILTER (WHERE is_late), 0) AS BIGINT) AS late_ns
FROM _code_load
GROUP BY source, name
ORDER BY total_ns DESC, source, name
