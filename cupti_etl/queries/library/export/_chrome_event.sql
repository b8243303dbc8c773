-- The trace as events of Chrome's JSON trace format, in the categories of PyTorch's profiler.
--
-- computed: One complete event (ph X) a kernel, copy, memset, CUDA graph whose nodes are not
--   recorded, API call, wait, overhead and range; one that begins only (ph B) where the end is not
--   known; an instant (ph i) a mark and what PyTorch's allocators gave or took back; an arrow (ph s
--   and f) from each call to its work on a GPU; names (ph M) of processes, threads and streams.
--   Times are microseconds since base_ns. Work on a GPU has the number of the GPU as its pid, or,
--   where the trace has several processes, or one with such a number, a text with theirs. Source:
--   "Trace Event Format", Google, and the files that PyTorch's profiler writes.
-- limits: Other tables have no events.
-- parameters:
--   base_ns BIGINT = 0 [epoch ns]: What times are since.
-- columns:
--   event VARCHAR: One event, as JSON.
WITH owner AS (
    SELECT process_id, pid, name AS called,
           count(*) OVER () > 1
               -- In a container, its first program has the pid 1.
               OR pid IN (SELECT device_id FROM gpu_activity) AS is_named
    FROM _export_process
    SEMI JOIN process USING (process_id)
),
-- As process_id and correlation_id are those of a piece of work, or marker_id of a range.
given AS (
    SELECT process_id, marker_id, correlation_id,
           -- Without its braces, behind other members.
           ',' || nullif(trim(arguments[2:-2]), '') AS members
    FROM argument
),
external AS (
    SELECT process_id, correlation_id, any_value(external_id) AS external_id
    FROM external_correlation
    GROUP BY process_id, correlation_id
),
-- Kinds of memory as PyTorch writes them: Device, Managed Static.
kinds AS (
    SELECT kind,
           array_to_string(
               [upper(word[1]) || word[2:] FOR word IN string_split(kind, '_')], ' '
           ) AS shown
    FROM (SELECT src_kind AS kind FROM memcpy UNION SELECT dst_kind FROM memcpy
          UNION SELECT src_kind FROM memcpy_p2p UNION SELECT dst_kind FROM memcpy_p2p
          UNION SELECT memory_kind FROM memset)
),
work AS (
    SELECT process_id, correlation_id, device_id, context_id, stream_id, start_ns, end_ns,
           graph_id, graph_node_id, 'kernel' AS cat, demangled AS name,
           concat(
               ',"registers per thread":' || registers_per_thread,
               ',"shared memory":' ||
                   (coalesce(static_shared_bytes, 0)::BIGINT + dynamic_shared_bytes),
               ',"grid":[' || grid_x || ',' || grid_y || ',' || grid_z || ']',
               ',"block":[' || block_x || ',' || block_y || ',' || block_z || ']',
               ',"priority":' || priority
           ) AS more
    FROM kernel_named
    UNION ALL
    SELECT process_id, correlation_id, device_id, context_id, stream_id, start_ns, end_ns,
           graph_id, graph_node_id, 'gpu_memcpy',
           concat('Memcpy ', copy_kind, ' (' || src.shown || ' -> ' || dst.shown || ')'),
           concat(',"bytes":' || bytes,
                  ',"memory bandwidth (GB/s)":' || bytes / nullif(end_ns - start_ns, 0),
                  ',"fromDevice":' || src_device_id, ',"toDevice":' || dst_device_id)
    FROM (FROM memcpy UNION ALL BY NAME FROM memcpy_p2p)
    LEFT JOIN kinds AS src ON src.kind = src_kind
    LEFT JOIN kinds AS dst ON dst.kind = dst_kind
    UNION ALL
    SELECT process_id, correlation_id, device_id, context_id, stream_id, start_ns, end_ns,
           graph_id, graph_node_id, 'gpu_memset',
           concat('Memset', ' (' || kind.shown || ')'),
           concat(',"bytes":' || bytes,
                  ',"memory bandwidth (GB/s)":' || bytes / nullif(end_ns - start_ns, 0))
    FROM memset
    LEFT JOIN kinds AS kind ON kind.kind = memory_kind
    UNION ALL
    -- PyTorch's profiler has none such.
    SELECT process_id, correlation_id, device_id, context_id, stream_id, start_ns, end_ns,
           graph_id, NULL, 'cuda_graph', concat('graph ', graph_id),
           concat(',"end device":' || end_device_id, ',"end context":' || end_context_id)
    FROM graph_trace
),
-- Whatever has a begin and an end: where it is drawn, its name and its arguments.
spans AS (
    SELECT true AS is_work, start_ns, end_ns, cat, name,
           CASE WHEN is_named
                THEN '"GPU ' || coalesce(device_id, 0) || ' of ' || pid || '"'
                ELSE coalesce(device_id, 0)::VARCHAR END AS pid,
           coalesce(stream_id, 0)::VARCHAR AS tid,
           concat('"device":', coalesce(device_id, 0), ',"context":' || context_id,
                  ',"stream":' || stream_id, ',"correlation":' || correlation_id,
                  ',"External id":' || external_id, ',"graph id":' || graph_id,
                  ',"graph node id":' || graph_node_id, more, members) AS args
    FROM work
    LEFT JOIN owner USING (process_id)
    LEFT JOIN external USING (process_id, correlation_id)
    LEFT JOIN (SELECT process_id, correlation_id, any_value(members) AS members
               FROM given WHERE marker_id IS NULL GROUP BY ALL) AS given
        USING (process_id, correlation_id)
    UNION ALL
    SELECT false, start_ns, end_ns,
           CASE domain WHEN 'driver' THEN 'cuda_driver' ELSE 'cuda_runtime' END, name,
           coalesce(pid, 0)::VARCHAR, coalesce(thread_id, 0)::VARCHAR,
           ltrim(concat(',"cbid":' || cbid, ',"correlation":' || correlation_id,
                        ',"External id":' || external_id), ',')
    FROM api_call
    LEFT JOIN owner USING (process_id)
    LEFT JOIN external USING (process_id, correlation_id)
    UNION ALL
    SELECT false, start_ns, end_ns, 'cuda_sync', replace(type, '_', ' '),
           CASE WHEN is_named THEN '"waits of ' || pid || '"' ELSE '"waits"' END,
           coalesce(stream_id, 0)::VARCHAR,
           concat('"stream":', coalesce(stream_id, -1), ',"correlation":' || correlation_id,
                  ',"context":' || context_id, ',"wait_on_cuda_event_id":' || event_id)
    FROM synchronization
    LEFT JOIN owner USING (process_id)
    UNION ALL
    SELECT false, start_ns, end_ns, 'overhead',
           CASE overhead_kind WHEN 'module_loading' THEN 'Runtime Triggered Module Loading'
               ELSE array_to_string(
                   [upper(word[1]) || word[2:] FOR word IN string_split(overhead_kind, '_')], ' '
               ) END,
           CASE WHEN is_named THEN '"overhead of ' || pid || '"' ELSE '-1' END, '0',
           ltrim(concat(',"correlation":' || correlation_id), ',')
    FROM overhead
    LEFT JOIN owner USING (process_id)
    UNION ALL
    -- Of ranges with the same begin and end, the outer one comes first, as readers nest them so.
    FROM (
        SELECT false, ranges.start_ns, ranges.end_ns,
               CASE WHEN is_category THEN domain ELSE 'user_annotation' END, ranges.name,
               coalesce(pid, 0)::VARCHAR, coalesce(ranges.thread_id::VARCHAR, '"no thread"'),
               ltrim(concat(
                   -- Our import makes of these what they were.
                   CASE WHEN NOT is_category
                        THEN ',"NVTX domain":' || to_json(coalesce(domain, '')) END,
                   ',"External id":' || ranges.payload_int, members
               ), ',')
        FROM (
            SELECT *, coalesce(domain IN ('cpu_op', 'user_annotation', 'python_function', 'Trace'),
                               false) AS is_category
            FROM nvtx_range
        ) AS ranges
        LEFT JOIN owner USING (process_id)
        LEFT JOIN (SELECT process_id, marker_id, any_value(members) AS members
                   FROM given WHERE marker_id IS NOT NULL GROUP BY ALL) AS given
            USING (process_id, marker_id)
        ORDER BY range_id
    )
),
lanes AS (
    SELECT DISTINCT pid, tid
    FROM spans
    WHERE is_work
),
arrows AS (
    SELECT 's' AS ph, start_ns, coalesce(pid, 0)::VARCHAR AS pid, coalesce(thread_id, 0) AS tid,
           correlation_id, CASE WHEN is_named THEN pid END AS among
    FROM launch
    LEFT JOIN owner USING (process_id)
    UNION ALL
    SELECT 'f', start_ns,
           CASE WHEN is_named
                THEN '"GPU ' || coalesce(device_id, 0) || ' of ' || pid || '"'
                ELSE coalesce(device_id, 0)::VARCHAR END,
           coalesce(stream_id, 0), correlation_id, CASE WHEN is_named THEN pid END
    FROM gpu_activity
    LEFT JOIN owner USING (process_id)
    SEMI JOIN launch USING (process_id, correlation_id)
)
SELECT concat('{"ph":"M","name":"process_name","ts":0,"pid":', pid, ',"tid":0,"args":{"name":',
              to_json(called), '}}') AS event
FROM owner
UNION ALL
SELECT DISTINCT concat('{"ph":"M","name":"process_name","ts":0,"pid":', pid,
                       ',"tid":0,"args":{"name":', to_json('GPU ' || trim(pid, '"GPU ')), '}}')
FROM lanes
UNION ALL
SELECT concat('{"ph":"M","name":"thread_name","ts":0,"pid":', owner.pid, ',"tid":', thread_id,
              ',"args":{"name":', to_json(min(name)), '}}')
FROM name
JOIN owner USING (process_id)
WHERE object_kind = 'thread' AND thread_id IS NOT NULL AND name IS NOT NULL
GROUP BY owner.pid, thread_id
UNION ALL
SELECT concat('{"ph":"M","name":"thread_name","ts":0,"pid":', pid, ',"tid":', tid,
              ',"args":{"name":"stream ', tid, '"}}')
FROM lanes
UNION ALL
SELECT concat('{"ph":"', CASE WHEN end_ns IS NULL THEN 'B' ELSE 'X' END, '","cat":"', cat,
              '","name":', to_json(coalesce(name, '')), ',"pid":', pid, ',"tid":', tid,
              ',"ts":', (start_ns - base_ns) / 1000,
              ',"dur":' || ((end_ns - start_ns) / 1000), ',"args":{', args, '}}')
FROM spans
WHERE start_ns IS NOT NULL
UNION ALL
SELECT concat('{"ph":"i","s":"t","cat":"user_annotation","name":', to_json(coalesce(name, '')),
              ',"pid":', coalesce(pid, 0), ',"tid":', coalesce(thread_id, 0),
              ',"ts":', (timestamp_ns - base_ns) / 1000, ',"args":{"NVTX domain":',
              to_json(coalesce(domain, '')), '}}')
FROM marker
LEFT JOIN owner USING (process_id)
WHERE event = 'instant' AND timestamp_ns IS NOT NULL
UNION ALL
SELECT concat('{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]"',
              ',"pid":', coalesce(pid, 0), ',"tid":', coalesce(thread_id, 0),
              ',"ts":', (timestamp_ns - base_ns) / 1000,
              ',"args":{"Device Type":', CASE memory_kind WHEN 'pageable' THEN 0 ELSE 1 END,
              ',"Device Id":', coalesce(device_id, -1), ',"Addr":' || address,
              ',"Bytes":' || CASE operation WHEN 'release' THEN -bytes ELSE bytes END,
              ',"Total Allocated":' || pool_utilized_bytes, ',"Total Reserved":' || pool_bytes,
              '}}')
FROM memory_operation
LEFT JOIN owner USING (process_id)
WHERE source = 'PyTorch allocator' AND timestamp_ns IS NOT NULL
UNION ALL
SELECT concat('{"ph":"', ph, '","cat":"ac2g","name":"ac2g","bp":"e","id":',
              coalesce('"' || correlation_id || ' of ' || among || '"', correlation_id::VARCHAR),
              ',"pid":', pid, ',"tid":', tid, ',"ts":', (start_ns - base_ns) / 1000, '}')
FROM arrows
WHERE start_ns IS NOT NULL
