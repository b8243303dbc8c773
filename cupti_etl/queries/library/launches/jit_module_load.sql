-- Time in which code was compiled, loaded or set up, and whether that went on after the start.
--
-- computed: Rows of jit, of overhead (compiler, module and lazy function loading) and API calls
--   that load or link code, by source and name. Times are sums; a loading call contains the
--   overhead that it causes. Late is what began after the first tenth of the trace's GPU work.
-- needs: jit, overhead, api_call, kernel
-- limits: What was not recorded is not seen: overhead and jit are not among the kinds that a
--   capture records by default.
-- lookup: kernel
-- columns:
--   source VARCHAR: jit, overhead or api_call.
--   name VARCHAR: Step, kind of overhead or function.
--   count BIGINT [events]: How many began and ended at known times.
--   total_ns BIGINT [ns]: Sum of their durations.
--   max_ns BIGINT [ns]: Longest.
--   late BIGINT [events]: Of these, how many began late.
--   late_ns BIGINT [ns]: Sum of their durations.
WITH steady AS (
    SELECT min(start_ns) + (max(start_ns) - min(start_ns)) // 10 AS from_ns FROM kernel
),
events AS (
    SELECT 'jit' AS source, operation AS name, start_ns, end_ns FROM jit
    UNION ALL
    SELECT 'overhead', overhead_kind, start_ns, end_ns
    FROM overhead
    WHERE overhead_kind IN ('driver_compiler', 'module_loading', 'lazy_function_loading')
    UNION ALL
    SELECT 'api_call', name, start_ns, end_ns
    FROM api_call
    WHERE contains(name, 'ModuleLoad') OR contains(name, 'LibraryLoad') OR contains(name, 'cuLink')
)
SELECT source, name, count(end_ns - start_ns) AS count,
       TRY_CAST(coalesce(sum(end_ns - start_ns), 0) AS BIGINT) AS total_ns,
       max(end_ns - start_ns) AS max_ns,
       count(end_ns) FILTER (WHERE start_ns >= from_ns) AS late,
       TRY_CAST(coalesce(sum(end_ns - start_ns) FILTER (WHERE start_ns >= from_ns), 0) AS BIGINT)
           AS late_ns
FROM events, steady
GROUP BY source, name
ORDER BY total_ns DESC, source, name
