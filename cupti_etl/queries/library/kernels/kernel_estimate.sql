-- How often each kernel ran in the whole run, of which only parts were recorded, and how long.
--
-- computed: Windows of a process are a sample of its time. What a kernel did in them is taken per
--   launch (see _window_run), as all launches are counted, recorded or not; per time where a
--   window has hardly any outside of CUDA graphs. The intervals hold the truth in
--   95 of 100 cases: 1.96 standard errors of the ratio, by the differences between windows. A
--   process that was recorded from its begin to its end counts as it is. An execution belongs to
--   the last window that began before it did, and counts where it has an end.
-- requires: capture_window
--   kernel_named: no kernels were recorded.
-- limits: Kernels that ran in no window are not here, nor what was launched before the first
--   window or after the last. Windows that keep time with the steps of the
--   program would show the same part of them again and again: --budget varies their distance.
-- first: percent, total_ns, total_low_ns, total_high_ns, calls, calls_low, calls_high, name
-- label: name = kernel(demangled)
-- example: cupti-etl query kernel_estimate TRACE
-- scope: whole
-- columns:
--   name VARCHAR: Function name alone.
--   percent DOUBLE [%]: recorded_ns as a share of the sum of recorded_ns over all kernels.
--   calls DOUBLE [executions]: Estimate of its executions in the whole run; NULL where no interval
--     can be given.
--   calls_low DOUBLE [executions]: The lower end of the interval.
--   calls_high DOUBLE [executions]: Its upper end.
--   total_ns DOUBLE [ns]: Estimate of the sum of their durations, likewise.
--   total_low_ns DOUBLE [ns]: The lower end of the interval.
--   total_high_ns DOUBLE [ns]: Its upper end.
--   recorded_calls BIGINT [executions]: Finished executions that were recorded.
--   recorded_ns BIGINT [ns]: Sum of their durations.
--   basis VARCHAR: What the estimate goes by: launches, time, or everything where all was
--     recorded; NULL of several.
--   reason VARCHAR: Why there is no estimate; NULL if there is one.
--   demangled VARCHAR: Name with template and call arguments.
WITH runs AS (
    SELECT process_id, number, sum(last_launch - first_launch + 1) AS launches,
           sum(kernels) AS kernels
    FROM _window_run
    GROUP BY process_id, number
),
all_launches AS (
    SELECT process_id, sum(launches) AS launches
    FROM (SELECT process_id, max(last_launch) - min(first_launch) + 1 AS launches
          FROM _window_run
          GROUP BY process_id, device_id)
    GROUP BY process_id
),
finished AS (
    SELECT process_id, demangled, short, start_ns, end_ns - start_ns AS duration_ns
    FROM kernel_named
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
),
placed AS (
    SELECT finished.*, number
    FROM finished
    ASOF JOIN _window AS seen
        ON seen.process_id = finished.process_id AND seen.begin_ns <= finished.start_ns
),
sizes AS (
    SELECT process_id, number, start_ns, end_ns, is_several, is_whole,
           bool_and(coalesce(launches >= 10, false)) OVER (PARTITION BY process_id)
               AS is_by_launches,
           CASE WHEN is_by_launches THEN launches ELSE end_ns - start_ns END::DOUBLE AS size
    FROM _window
    LEFT JOIN runs USING (process_id, number)
),
wholes AS (
    SELECT process_id, count(*) AS windows, sum(size) AS size, sum(size * size) AS squares,
           any_value(is_by_launches) AS is_by_launches, bool_or(is_several) AS is_several,
           bool_and(is_whole) AS is_whole,
           CASE WHEN any_value(is_by_launches) THEN any_value(launches)
                ELSE greatest(max(exit_ns), max(end_ns)) - min(start_ns) END::DOUBLE AS all_size
    FROM sizes
    LEFT JOIN all_launches USING (process_id)
    LEFT JOIN (SELECT process_id, max(end_ns) AS exit_ns FROM process GROUP BY process_id)
        USING (process_id)
    GROUP BY process_id
),
in_windows AS (
    SELECT process_id, demangled, any_value(short) AS short, number, count(*)::DOUBLE AS calls,
           sum(duration_ns)::DOUBLE AS ns
    FROM placed
    GROUP BY process_id, demangled, number
),
sums AS (
    SELECT process_id, demangled, any_value(short) AS short, sum(calls) AS calls,
           sum(ns) AS ns, sum(calls * calls) AS calls_squares, sum(ns * ns) AS ns_squares,
           sum(calls * size) AS calls_products, sum(ns * size) AS ns_products
    FROM in_windows
    JOIN sizes USING (process_id, number)
    GROUP BY process_id, demangled
),
-- The variance of a ratio estimate: what windows differ by from their share, by size.
of_process AS (
    SELECT sums.*, is_by_launches, windows = 1 AND is_whole AS is_whole, is_several,
           windows >= 10 AND NOT is_several AND size > 0 AS is_enough,
           greatest(all_size / nullif(size, 0), 1) AS factor,
           windows / nullif(windows - 1, 0) * greatest(1 - size / nullif(all_size, 0), 0)
               AS correction,
           squares / nullif(size * size, 0) AS evenness, size
    FROM sums
    JOIN wholes USING (process_id)
),
estimates AS (
    SELECT *,
           CASE WHEN is_whole THEN calls WHEN is_enough THEN calls * factor END AS all_calls,
           CASE WHEN is_whole THEN ns WHEN is_enough THEN ns * factor END AS all_ns,
           CASE WHEN is_whole THEN 0
                ELSE factor * factor * correction * greatest(
                    calls_squares - 2 * calls * calls_products / size + calls * calls * evenness, 0)
               END AS calls_variance,
           CASE WHEN is_whole THEN 0
                ELSE factor * factor * correction * greatest(
                    ns_squares - 2 * ns * ns_products / size + ns * ns * evenness, 0)
               END AS ns_variance
    FROM of_process
),
together AS (
    SELECT demangled, any_value(short) AS name, sum(calls) AS recorded_calls,
           sum(ns) AS recorded_ns,
           CASE WHEN count(*) = count(all_calls) THEN sum(all_calls) END AS calls,
           CASE WHEN count(*) = count(all_ns) THEN sum(all_ns) END AS total_ns,
           bool_or(is_several) AS is_several,
           1.96 * sqrt(sum(calls_variance)) AS calls_off, 1.96 * sqrt(sum(ns_variance)) AS ns_off,
           CASE WHEN bool_and(is_whole) THEN 'everything'
                WHEN bool_or(is_whole) THEN NULL
                WHEN bool_and(is_by_launches) THEN 'launches'
                WHEN NOT bool_or(is_by_launches) THEN 'time' END AS basis
    FROM estimates
    GROUP BY demangled
)
SELECT name, 100.0 * recorded_ns / nullif(sum(recorded_ns) OVER (), 0) AS percent, calls,
       -- No fewer than were seen.
       CASE WHEN calls IS NOT NULL THEN greatest(calls - calls_off, recorded_calls) END
           AS calls_low,
       CASE WHEN calls IS NOT NULL THEN calls + calls_off END AS calls_high, total_ns,
       CASE WHEN total_ns IS NOT NULL THEN greatest(total_ns - ns_off, recorded_ns) END
           AS total_low_ns,
       CASE WHEN total_ns IS NOT NULL THEN total_ns + ns_off END AS total_high_ns,
       TRY_CAST(recorded_calls AS BIGINT) AS recorded_calls,
       TRY_CAST(recorded_ns AS BIGINT) AS recorded_ns, basis,
       CASE WHEN calls IS NOT NULL THEN NULL
            WHEN is_several THEN 'windows that were too many to be noted one by one'
            ELSE 'fewer than ten windows' END AS reason, demangled
FROM together
ORDER BY recorded_ns DESC, demangled
