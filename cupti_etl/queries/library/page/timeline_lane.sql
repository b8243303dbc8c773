-- The lanes of a timeline of the whole trace, in the order in which they are drawn.
--
-- computed: For each GPU its idle times by cause, its streams, metrics and clocks; for each process
--   what was lost or not recorded of it, and for each of its threads ranges, Python functions that
--   launched, and CUDA calls. A row of source with the filter of a lane, and the start of a thing
--   since begin_ns, says everything about that thing.
-- limits: As of nvtx_range, idle_summary and pm_timeline.
-- scope: whole
-- columns:
--   lane INTEGER: Number of the lane, from 0.
--   section VARCHAR: The GPU or the process.
--   label VARCHAR: What the lane is of.
--   content VARCHAR: idle, stream, metric, clock, loss, range, python (functions by their launches)
--     or api.
--   depths INTEGER: Rows that it takes to draw what is in or over each other.
--   source VARCHAR: Where its things are from, for FROM.
--   filter VARCHAR: Which of these rows, for WHERE.
--   unit VARCHAR: Unit of a metric or clock; NULL for others.
--   max_value DOUBLE: Largest value of a metric or clock; NULL for others.
--   items BIGINT: How many things it has.
--   begin_ns VARCHAR [epoch ns]: When the trace began; as text, since it has more digits than a
--     double.
--   end_ns BIGINT [ns]: When its last thing ended, since then.
WITH gpus AS (
    SELECT gpu, min(device_uuid) AS device_uuid,
           concat('GPU ', gpu, ': ' || min(device_name),
                  CASE WHEN (SELECT count(DISTINCT host) FROM gpu) > 1
                       THEN ' of ' || min(host) END) AS section
    FROM gpu
    GROUP BY gpu
),
processes AS (
    SELECT process_id,
           concat(CASE WHEN rank IS NOT NULL THEN concat('rank ', rank, ': ') END, 'process ', pid,
                  CASE WHEN (SELECT count(DISTINCT host) FROM process) > 1
                       THEN ' of ' || host END,
                  ', ' || argv) AS section
    FROM (SELECT process_id, any_value(rank) AS rank, any_value(pid) AS pid,
                 any_value(host) AS host, any_value(argv) AS argv
          FROM process GROUP BY process_id)
),
-- Streams of one number on one GPU, where processes or contexts share it.
shared AS (
    SELECT gpu, count(DISTINCT process_id) > 1 AS has_processes,
           count(DISTINCT context_id) > count(DISTINCT process_id) AS has_contexts
    FROM _timeline_lane
    WHERE content = 'stream'
    GROUP BY gpu
),
depths AS (
    -- A damaged stack can say any depth.
    SELECT lane, least(max(depth), 2147483646) + 1 AS depths FROM _timeline_item GROUP BY lane
),
units AS (
    SELECT metric, any_value(unit) AS unit FROM pm_metric GROUP BY metric
)
SELECT lanes.lane,
       CASE WHEN content IN ('idle', 'stream', 'metric', 'clock')
            THEN coalesce(gpus.section, concat('GPU ', lanes.device_id))
            ELSE coalesce(processes.section, 'trace') END AS section,
       CASE content
           WHEN 'idle' THEN 'idle'
           WHEN 'stream' THEN concat('stream ', number,
                                     CASE WHEN has_contexts
                                          THEN concat(', context ', lanes.context_id) END,
                                     CASE WHEN has_processes
                                          THEN ', ' || split_part(processes.section, ',', 1) END)
           WHEN 'loss' THEN 'not recorded'
           WHEN 'range' THEN concat(coalesce('thread ' || nullif(number, -1), 'no thread:'),
                                    ' ranges')
           WHEN 'python' THEN concat('thread ', number, ' Python')
           WHEN 'api' THEN concat(coalesce('thread ' || nullif(number, -1), 'no thread:'),
                                  ' CUDA calls')
           ELSE metric END AS label,
       content, coalesce(depths, 1) AS depths,
       CASE content
           WHEN 'idle' THEN '_idle_cause'
           WHEN 'stream' THEN '(FROM kernel_named UNION ALL BY NAME FROM memcpy UNION ALL BY NAME '
               || 'FROM memcpy_p2p UNION ALL BY NAME FROM memset UNION ALL BY NAME '
               || 'FROM graph_trace) AS work'
           WHEN 'loss' THEN '_timeline_loss'
           WHEN 'range' THEN 'nvtx_range'
           WHEN 'python' THEN '_timeline_frame'
           WHEN 'api' THEN 'api_call'
           WHEN 'metric' THEN 'pm_sample'
           ELSE '(SELECT *, timestamp_ns AS start_ns FROM environment) AS sample' END AS source,
       CASE content
           WHEN 'idle' THEN concat('gpu = ', lanes.gpu)
           WHEN 'stream' THEN concat(
               'process_id = ', lanes.process_id, ' AND coalesce(device_id, -1) = ',
               lanes.device_id, ' AND coalesce(context_id, -1) = ', lanes.context_id,
               ' AND coalesce(stream_id, -1) = ', number)
           WHEN 'loss' THEN concat('coalesce(process_id, -1) = ', lanes.process_id)
           WHEN 'metric' THEN 'device_uuid = ''' || replace(gpus.device_uuid, '''', '''''') || ''''
           WHEN 'clock' THEN concat(
               '(process_id, device_id) IN (SELECT (process_id, device_id) FROM gpu WHERE gpu = ',
               lanes.gpu, ')')
           ELSE concat('process_id = ', lanes.process_id, ' AND coalesce(thread_id, -1) = ', number)
       END AS filter,
       CASE content WHEN 'metric' THEN units.unit
                    WHEN 'clock' THEN CASE metric WHEN 'power' THEN 'W' ELSE 'MHz' END END AS unit,
       max_value, items, begin_ns::VARCHAR AS begin_ns, end_ns
FROM _timeline_lane AS lanes
LEFT JOIN gpus ON gpus.gpu = lanes.gpu AND content IN ('idle', 'stream', 'metric', 'clock')
LEFT JOIN processes ON processes.process_id = lanes.process_id
LEFT JOIN shared ON shared.gpu = lanes.gpu
LEFT JOIN depths ON depths.lane = lanes.lane
LEFT JOIN units USING (metric)
ORDER BY lanes.lane
