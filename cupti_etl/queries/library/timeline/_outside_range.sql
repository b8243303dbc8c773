-- What the host did outside CUDA while a GPU was idle for it, and the range with most of it.
--
-- computed: Of gaps of 100 us and more, host_ns and input_ns of _idle_cause go in equal parts to
--   the innermost ranges at times spread over the gap, one for each 100 us, no more than 20, but a
--   thousand in all, up to when the next work was asked for, of the thread that asked for it, and
--   to those around these. Times in CUDA (_host_span of 20 us and more) do not count; those in
--   _input_range are of input, in _compile_range of compiling. So are, where there are no such
--   ranges, those of a gap in which the process loads a module, as what compiles while it runs
--   (Triton, NVRTC) does when it is done, from when it last launched, waited, copied or allocated
--   before, if that was 10 ms: in less time it reads what was compiled before. Ranges are alike
--   whose names, and those around them, differ in numbers alone. Of those with more than half of
--   the time of a state, the innermost; a step is none, as all is in steps. Of compiling, the name
--   in _compile_range with most of it.
-- materialized: Made once for an opened trace, as several findings read it.
-- lookup: api_call, _host_span
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   state VARCHAR: host or input, as in _idle_cause, or compiling, which is host there.
--   total_ns BIGINT [ns]: Time of the state.
--   name VARCHAR: Name of the range, with N for numbers in which those that are alike differ; NULL
--     if none has more than half of the time.
--   kernel VARCHAR: Of compiling without a name, the mangled name of the kernel that was waited
--     for most, or what else it was.
WITH RECURSIVE loading AS (
    SELECT process_id, start_ns, end_ns
    FROM api_call
    WHERE contains(name, 'ModuleLoad')
        AND regexp_full_match(name, '(cu|hip)ModuleLoad(Data)?(Ex)?')
        AND process_id NOT IN (SELECT process_id FROM _compile_range)
),
loads AS (
    SELECT loading.process_id, loading.end_ns, coalesce(done.end_ns, 0) AS since_ns
    FROM loading
    ASOF LEFT JOIN (
        SELECT process_id, end_ns
        FROM _host_span
        WHERE process_id IN (SELECT process_id FROM loading)
            AND source = 'api_call' AND class BETWEEN 2 AND 4
            -- cudaMemGetInfo, for one, which CuPy calls before it loads.
            AND NOT contains(name, 'Get')
    ) AS done
        ON done.process_id = loading.process_id AND done.end_ns <= loading.start_ns
    WHERE loading.start_ns - since_ns >= 10000000
),
-- Shorter ones are hardly met.
inside AS (
    SELECT process_id, start_ns, max(end_ns) OVER (
               PARTITION BY process_id ORDER BY start_ns ROWS UNBOUNDED PRECEDING
           ) AS end_ns
    FROM _host_span
    WHERE end_ns - start_ns >= 20000
),
gaps AS (
    SELECT gpu, edge.process_id, host_ns, input_ns, next_correlation_id AS correlation_id,
           cause.start_ns, cause.gap_ns - queued_ns - unknown_ns AS length_ns,
           greatest(least(cause.gap_ns // 100000, 20), 1000 // count(*) OVER ()) AS n,
           coalesce(next_name, next_kind) AS kernel,
           CASE WHEN loads.end_ns > cause.start_ns THEN since_ns END AS since_ns
    FROM _idle_cause AS cause
    JOIN _gap_edge AS edge USING (gpu, start_ns)
    ASOF LEFT JOIN loads
        ON loads.process_id = edge.process_id
        AND loads.end_ns <= edge.end_ns - queued_ns - unknown_ns
    WHERE cause.gap_ns >= 100000 AND host_ns + input_ns > 0
),
calls AS (
    SELECT process_id, correlation_id, min(thread_id) AS thread_id
    FROM api_call
    SEMI JOIN gaps USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
),
times AS (
    SELECT gpu, process_id, thread_id, kernel, start_ns, host_ns, input_ns, since_ns,
           start_ns + length_ns * (2 * unnest(range(n)) + 1) // (2 * n) AS at_ns
    FROM gaps
    JOIN calls USING (process_id, correlation_id)
),
told AS (
    SELECT times.* EXCLUDE kernel,
           coalesce(times.at_ns >= since_ns, false) AS has_loaded,
           CASE WHEN times.at_ns < input.end_ns THEN 'input'
                WHEN times.at_ns < compile.end_ns OR has_loaded THEN 'compiling' ELSE 'host' END
               AS state,
           CASE state WHEN 'compiling' THEN compile.name END AS compiled,
           CASE WHEN state = 'compiling' AND has_loaded THEN kernel END AS kernel
    FROM times
    ASOF LEFT JOIN inside
        ON inside.process_id = times.process_id AND inside.start_ns <= times.at_ns
    ASOF LEFT JOIN _input_range AS input
        ON input.process_id = times.process_id AND input.start_ns <= times.at_ns
    ASOF LEFT JOIN _compile_range AS compile
        ON compile.process_id = times.process_id AND compile.start_ns <= times.at_ns
    WHERE coalesce(inside.end_ns <= times.at_ns, true)
),
spent AS (
    SELECT gpu, process_id, thread_id, at_ns, state, compiled, kernel,
           CASE state WHEN 'input' THEN input_ns ELSE host_ns END
               / count(*) OVER (PARTITION BY gpu, start_ns, state = 'input') AS host_ns
    FROM told
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
