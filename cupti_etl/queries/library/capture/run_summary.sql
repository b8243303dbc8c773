-- The run on one page: what ran where, for how long, and what took the time.
--
-- computed: One row a fact; those of processes and GPUs come last where there are more than four.
--   Wall time is that of the capture, of a command or of the block of a program, if all of it is
--   there, else that of what was traced. Busy time is a union (busy_breakdown); times of kernels
--   and copies are sums of durations. Errors are those of calls after which something did not run
--   (_failed_call).
-- materialized: Few rows, of all that ran.
-- limits: See capture_health for what is missing from the trace.
-- front: What ran, for how long, and what took the time?
-- first: section, subject, value, unit, detail
-- label: subject = kernel(demangled)
-- alias: summary
-- scope: steady
-- columns:
--   section VARCHAR: run, process, gpu, kernels, graphs, copies or errors.
--   subject VARCHAR: What the value is of.
--   value DOUBLE: The number; NULL for a fact in words.
--   unit VARCHAR: Its unit.
--   detail VARCHAR: More in words.
--   demangled VARCHAR: Full name of a kernel; NULL for the rest.
SELECT section, subject, value, unit, detail, demangled
FROM (
    SELECT 1 AS place, 0::DOUBLE AS rank, 'run' AS section, 'command' AS subject,
           NULL::DOUBLE AS value, NULL AS unit, command AS detail, NULL AS demangled
    FROM capture
    WHERE command IS NOT NULL
    UNION ALL
    -- A process is traced from its first use of CUDA on: of a command, that is not all of it.
    SELECT 2, 0, 'run', 'wall', (coalesce(commands.end_ns, traced.end_ns)
                                 - coalesce(commands.start_ns, traced.start_ns))::DOUBLE, 'ns',
           CASE WHEN commands.start_ns IS NULL THEN 'of the traced processes'
                ELSE printf('traced from %.1f s on',
                            (traced.start_ns - commands.start_ns) / 1e9) END, NULL
    FROM (
        SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM process HAVING count(*) > 0
    ) AS traced
    LEFT JOIN (
        SELECT min(start_ns) AS start_ns, max(end_ns) AS end_ns
        FROM capture
        WHERE command IS NOT NULL
        HAVING count(*) = count(end_ns)
    ) AS commands
        ON commands.start_ns <= traced.start_ns AND commands.end_ns >= traced.end_ns
    UNION ALL
    SELECT 2.1, 0, 'run', 'kept', ((SELECT max(end_ns) FROM capture) - max(end_ns))::DOUBLE, 'ns',
           concat('the end of the run: ', sum(rows), ' older rows were not kept'), NULL
    FROM discarded
    HAVING count(*) > 0
    UNION ALL
    -- A rank that never wrote, or was not captured.
    SELECT 2.2, 0, 'run', 'ranks', ranks::DOUBLE, 'ranks',
           concat('of ', world_size, '; not in the trace: ', absent), NULL
    FROM _rank_missing
    UNION ALL
    -- Many of them would hide what ran.
    SELECT CASE WHEN count(*) OVER () > 4 THEN 9 ELSE 3 END,
           row_number() OVER (ORDER BY rank, host, start_ns, process_id), 'process',
           concat(coalesce('pid ' || pid, 'without a pid'), coalesce(' rank ' || rank, ''),
                  coalesce(' on ' || host, ''),
                  nullif(' (' || row_number() OVER (PARTITION BY pid, rank, host
                                                    ORDER BY start_ns, process_id) || ')', ' (1)')),
           (end_ns - start_ns)::DOUBLE, 'ns',
           concat_ws(', ', nullif(state, 'finished'),
                     CASE WHEN cupti_version < 100000 THEN 'CUPTI API version ' || cupti_version
                          ELSE 'CUPTI ' || cupti_version // 10000 || '.'
                               || cupti_version // 100 % 100 END,
                     'driver for CUDA ' || driver_version // 1000 || '.'
                     || driver_version % 1000 // 10), NULL
    FROM process
    UNION ALL
    SELECT CASE WHEN count(*) OVER () > 4 THEN 8.1 ELSE 4 END, gpu, 'gpu',
           concat('gpu ', gpu, ' busy'), 100 - idle_pct, '%', device_name, NULL
    FROM busy_breakdown
    UNION ALL
    SELECT CASE WHEN count(*) OVER () > 4 THEN 8.2 ELSE 4.1 END, gpu, 'gpu',
           concat('gpu ', gpu, ' span'), span_ns, 'ns', host, NULL
    FROM busy_breakdown
    UNION ALL
    SELECT 5, 0, 'kernels', 'executions', sum(calls)::DOUBLE, 'executions',
           concat_ws(', ', CASE count(*) WHEN 1 THEN 'of 1 kernel'
                                         ELSE format('{:,} different kernels', count(*)) END,
                     format('{:,} unfinished',
                            TRY_CAST(nullif(sum(unfinished), 0) AS BIGINT))),
           NULL
    FROM kernel_summary
    HAVING count(*) > 0
    UNION ALL
    SELECT 6, -total_ns, 'kernels', name, total_ns, 'ns',
           concat(CASE WHEN percent > 0 AND percent < 0.05 THEN '<0.1'
                       ELSE printf('%.1f', percent) END,
                  format(' % of all, {:,} call{}', calls,
                         CASE calls WHEN 1 THEN '' ELSE 's' END)), demangled
    FROM (FROM kernel_summary WHERE calls > 0 ORDER BY total_ns DESC, demangled LIMIT 5)
    UNION ALL
    -- Who profiled a capture sees few kernels, and no reason.
    SELECT 6.5, 0, 'graphs', 'captured', sum(launches)::DOUBLE, 'launches',
           format('in {:,} capture{} of {:,.1f} ms; they run when the graph is launched',
                  count(*), CASE count(*) WHEN 1 THEN '' ELSE 's' END,
                  sum(end_ns - start_ns) / 1e6), NULL
    FROM _graph_capture
    HAVING count(*) > 0
    UNION ALL
    SELECT place, -bytes, 'copies', subject, bytes, 'bytes',
           concat_ws(', ', count,
                     CASE WHEN gbps >= 1000 THEN format('{:,.0f} GB/s', gbps)
                          WHEN gbps < 0.1 THEN format('{:.4g} MB/s', 1000 * gbps)
                          ELSE format('{:.4g} GB/s', gbps) END,
                     of_unknown), NULL
    FROM (
        SELECT 7 AS place, copy_kind AS subject, sum(bytes)::DOUBLE AS bytes,
               format('{:,} {}', TRY_CAST(sum(copies) AS BIGINT),
                      CASE sum(copies) WHEN 1 THEN 'copy' ELSE 'copies' END) AS count,
               (sum(bytes) / nullif(sum(total_ns) FILTER (WHERE bytes IS NOT NULL), 0))::DOUBLE
                   AS gbps,
               format('{:,} of unknown size',
                      TRY_CAST((sum(copies) FILTER (WHERE size IS NULL)) AS BIGINT)) AS of_unknown
        FROM memcpy_summary
        GROUP BY copy_kind
        HAVING sum(copies) > 0
        UNION ALL
        SELECT 7.5, concat('managed ', replace(counter, 'bytes_transfer_', '')),
               sum(bytes)::DOUBLE,
               format('{:,} move{}', TRY_CAST(sum(events) AS BIGINT),
                      CASE sum(events) WHEN 1 THEN '' ELSE 's' END),
               (sum(bytes) / nullif(sum(total_ns), 0))::DOUBLE, NULL
        FROM unified_memory_migration
        WHERE starts_with(counter, 'bytes_transfer')
        GROUP BY counter
    )
    UNION ALL
    SELECT 8, -calls, 'errors', name, calls::DOUBLE, 'calls',
           concat('failed: ', coalesce(told, 'error'), ' (', return_value, ')'), NULL
    FROM _failed_call
)
ORDER BY place, rank, subject, demangled
