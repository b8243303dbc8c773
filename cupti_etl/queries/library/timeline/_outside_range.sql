-- What the host did outside CUDA while a GPU was idle for it, and the range with most of it.
--
-- computed: Of gaps of 100 us and more, host_ns and input_ns of _idle_cause go in equal parts to
--   the innermost ranges at times spread over the gap, one for each 100 us and no more than 20, up
--   to when the next work was asked for, of the thread that asked for it, and to those around
--   these: times in _input_range are of input, in _compile_range of compiling. So are, where there
--   are no such ranges, those up to a call that loads a module, as what compiles while it runs
--   (Triton, NVRTC) makes when it is done, if the process launched, waited, copied and allocated
--   nothing in the 10 ms before it: from when it last did. In less time it reads what was compiled
--   before. Ranges are alike whose names, and those around them, differ in numbers alone. Of those
--   with more than half of the time of a state, the innermost; a step is none, as all is in steps.
--   Of compiling, the name in _compile_range with most of it.
-- materialized: Made once for an opened trace, as several findings read it.
-- lookup: api_call, _host_activity
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   state VARCHAR: host or input, as in _idle_cause, or compiling, which is host there.
--   total_ns BIGINT [ns]: Time of the state.
--   name VARCHAR: Name of the range, with N for numbers in which those that are alike differ; NULL
--     if none has more than half of the time.
--   kernel VARCHAR: Of compiling without a name, the mangled name of the kernel that was waited
--     for most, or what else it was.
WITH RECURSIVE loads AS (
    SELECT call.process_id, call.end_ns, busy.end_ns AS since_ns
    FROM api_call AS call
    ASOF LEFT JOIN (
        SELECT process_id, end_ns
        FROM _host_activity
        WHERE state IN ('waiting', 'memory', 'launching')
    ) AS busy
        ON busy.process_id = call.process_id AND busy.end_ns <= call.start_ns
    WHERE contains(name, 'ModuleLoad')
        AND regexp_full_match(name, '(cu|hip)ModuleLoad(Data)?(Ex)?')
        AND call.process_id NOT IN (SELECT process_id FROM _compile_range)
        AND coalesce(call.start_ns - busy.end_ns >= 10000000, true)
),
gaps AS (
    SELECT gpu, edge.process_id, host_ns, input_ns, next_correlation_id AS correlation_id,
           cause.start_ns, cause.gap_ns - queued_ns AS length_ns,
           least(cause.gap_ns // 100000, 20) AS n,
           coalesce(next_name, next_kind) AS kernel
    FROM _idle_cause AS cause
    JOIN _gap_edge AS edge USING (gpu, start_ns)
    WHERE cause.gap_ns >= 100000 AND host_ns + input_ns > 0
),
calls AS (
    SELECT process_id, correlation_id, min(thread_id) AS thread_id
    FROM api_call
    SEMI JOIN gaps USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
),
times AS (
    SELECT gpu, process_id, thread_id, kernel, host_ns / n AS host_ns, input_ns / n AS input_ns,
           start_ns + length_ns AS until_ns,
           start_ns + length_ns * (2 * unnest(range(n)) + 1) // (2 * n) AS at_ns
    FROM gaps
    JOIN calls USING (process_id, correlation_id)
),
spent AS (
    SELECT times.* EXCLUDE (host_ns, input_ns, kernel),
           coalesce(
               loads.end_ns <= times.until_ns AND times.at_ns >= coalesce(loads.since_ns, 0), false
           ) AS has_loaded,
           CASE WHEN times.at_ns < input.end_ns THEN 'input'
                WHEN times.at_ns < compile.end_ns OR has_loaded THEN 'compiling' ELSE 'host' END
               AS state,
           CASE state WHEN 'input' THEN input_ns ELSE host_ns END AS host_ns,
           CASE state WHEN 'compiling' THEN compile.name END AS compiled,
           CASE WHEN state = 'compiling' AND has_loaded THEN kernel END AS kernel
    FROM times
    ASOF LEFT JOIN _input_range AS input
        ON input.process_id = times.process_id AND input.start_ns <= times.at_ns
    ASOF LEFT JOIN _compile_range AS compile
        ON compile.process_id = times.process_id AND compile.start_ns <= times.at_ns
    ASOF LEFT JOIN loads
        ON loads.process_id = times.process_id AND loads.end_ns >= times.at_ns
),
-- Of ranges that are alike, the first stands for all.
placed AS (
    SELECT gpu, state, compiled, kernel, alike_range_id AS range_id, sum(host_ns) AS host_ns
    FROM spent
    ASOF LEFT JOIN _range_turn AS turn
        ON turn.process_id = spent.process_id
        AND turn.thread_id = spent.thread_id
        AND turn.at_ns <= spent.at_ns
    LEFT JOIN _range_parent AS parent ON parent.range_id = turn.range_id
    GROUP BY gpu, state, compiled, kernel, alike_range_id
),
ranges AS MATERIALIZED (
    SELECT first.range_id, first.depth, outer_range.alike_range_id AS parent_range_id
    FROM _range_parent AS first
    LEFT JOIN _range_parent AS outer_range ON outer_range.range_id = first.parent_range_id
    WHERE first.range_id = first.alike_range_id
),
around AS (
    SELECT range_id AS inner_range_id, range_id FROM placed WHERE range_id IS NOT NULL
    UNION
    SELECT inner_range_id, parent_range_id
    FROM around
    JOIN ranges USING (range_id)
    WHERE parent_range_id IS NOT NULL
),
names AS MATERIALIZED (
    SELECT range_id, parent_range_id, depth, called AS name,
           regexp_replace(called, '[0-9]+', 'N', 'g') AS stem
    FROM (
        -- Without what PyTorch writes behind the names of operators.
        SELECT range_id, regexp_replace(name, ', (seq|op_id|sizes) = .*', '') AS called
        FROM (SELECT DISTINCT range_id FROM around)
        JOIN _range_span USING (range_id)
    )
    JOIN ranges USING (range_id)
),
paths AS (
    SELECT range_id, depth, name, stem, [stem] AS path FROM names WHERE parent_range_id IS NULL
    UNION ALL
    SELECT names.range_id, names.depth, names.name, names.stem, list_append(path, names.stem)
    FROM names
    JOIN paths ON paths.range_id = names.parent_range_id
),
sums AS (
    SELECT gpu, state, path, any_value(depth) AS depth, sum(host_ns) AS host_ns,
           CASE WHEN min(name) = max(name) THEN min(name) ELSE any_value(stem) END AS name
    FROM placed
    JOIN around ON around.inner_range_id = placed.range_id
    JOIN paths ON paths.range_id = around.range_id
    GROUP BY gpu, state, path
),
totals AS (
    SELECT gpu, state, sum(host_ns) AS total_ns FROM placed GROUP BY gpu, state
),
most AS (
    SELECT gpu, state, arg_max(name, depth) AS name, NULL::VARCHAR AS kernel
    FROM sums
    JOIN totals USING (gpu, state)
    WHERE 2 * host_ns > total_ns AND state <> 'compiling'
        AND name NOT IN (SELECT regexp_replace(name, '[0-9]+', 'N', 'g') FROM _step_range)
        AND name NOT IN (SELECT name FROM _step_range)
    GROUP BY gpu, state
    UNION ALL
    SELECT gpu, state, arg_max(compiled, (host_ns, compiled)), arg_max(kernel, (host_ns, kernel))
    FROM (
        SELECT gpu, state, compiled, kernel, sum(host_ns) AS host_ns
        FROM placed
        WHERE state = 'compiling'
        GROUP BY gpu, state, compiled, kernel
    )
    GROUP BY gpu, state
)
SELECT gpu, state, TRY_CAST(total_ns AS BIGINT) AS total_ns, name, kernel
FROM totals
LEFT JOIN most USING (gpu, state)
