-- What a thing of the timeline asked for, or was asked for by: a call and its work on a GPU.
--
-- computed: The rows of launch_to_gpu with the call or the work that begins in the lane then.
-- limits: As of launch_to_gpu. Ranges, idle times and samples have no rows.
-- lookup: launch_to_gpu, _timeline_lane, _timeline_item
-- parameters:
--   lane INTEGER = 0: The lane of the thing, as in timeline_lane.
--   at_ns BIGINT = 0 [ns]: When it began, since the trace's beginning.
-- columns:
--   from_lane INTEGER: Lane of the call.
--   from_depth INTEGER: Its row.
--   from_ns BIGINT [ns]: When it began.
--   to_lane INTEGER: Lane of the work.
--   to_depth INTEGER: Its row.
--   to_ns BIGINT [ns]: When it began.
--   kind VARCHAR: "launch".
WITH chosen AS (
    SELECT lanes.*, begin_ns + at_ns AS chosen_ns
    FROM _timeline_lane AS lanes
    WHERE lanes.lane = lane AND content IN ('api', 'stream')
),
-- Equal times alone, so that only what begins then is read.
links AS (
    SELECT act.*
    FROM launch_to_gpu AS act
    JOIN chosen
        ON chosen.process_id = act.process_id
        AND chosen.chosen_ns = act.api_start_ns
        AND chosen.number = coalesce(act.thread_id, -1)
    WHERE content = 'api'
    UNION ALL
    SELECT act.*
    FROM launch_to_gpu AS act
    JOIN chosen
        ON chosen.process_id = act.process_id
        AND chosen.chosen_ns = act.start_ns
        AND chosen.device_id = coalesce(act.device_id, -1)
        AND chosen.context_id = coalesce(act.context_id, -1)
        AND chosen.number = coalesce(act.stream_id, -1)
    WHERE content = 'stream'
),
placed AS (
    SELECT calls.lane AS from_lane, links.api_start_ns - calls.begin_ns AS from_ns,
           streams.lane AS to_lane, links.start_ns - streams.begin_ns AS to_ns
    FROM links
    JOIN _timeline_lane AS calls
        ON calls.content = 'api' AND calls.process_id = links.process_id
        AND calls.number = coalesce(links.thread_id, -1)
    JOIN _timeline_lane AS streams
        ON streams.content = 'stream' AND streams.process_id = links.process_id
        AND streams.device_id = coalesce(links.device_id, -1)
        AND streams.context_id = coalesce(links.context_id, -1)
        AND streams.number = coalesce(links.stream_id, -1)
)
SELECT DISTINCT from_lane, calls.depth AS from_depth, from_ns, to_lane, works.depth AS to_depth,
       to_ns, 'launch' AS kind
FROM placed
JOIN _timeline_item AS calls ON calls.lane = from_lane AND calls.start_ns = from_ns
JOIN _timeline_item AS works ON works.lane = to_lane AND works.start_ns = to_ns
ORDER BY from_ns, to_ns, to_lane
LIMIT 1000
