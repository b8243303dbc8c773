-- Each activity of a GPU with the API call that asked for it.
--
-- computed: gpu_activity joined to launch by process_id and correlation_id, so that an activity
--   has one row, or none if its call is not known. Where an id began anew after 2^32 calls, the
--   last call that began before the activity is meant.
-- limits: One call has many rows where it launched a graph: is_graph tells.
-- scope: start_ns
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins the two.
--   thread_id INTEGER: Thread that called.
--   api_name VARCHAR: Function called.
--   api_start_ns BIGINT [epoch ns]: When it was entered.
--   api_end_ns BIGINT [epoch ns]: When it returned.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   context_id INTEGER: Context of the activity.
--   stream_id INTEGER: Stream of the activity.
--   start_ns BIGINT [epoch ns]: When the activity began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it was still running.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph.
--   category VARCHAR: compute, communication or copy.
--   name VARCHAR: Name of the activity, as in gpu_activity.
--   bytes BIGINT [bytes]: Bytes copied or set.
--   graph_id, graph_node_id of gpu_activity
--   is_graph BOOLEAN: Whether a graph launch asked for it: its graph is known, or its call's name
--     says so (cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch), as graphs often have no number in
--     traces of other tools.
SELECT act.process_id, act.correlation_id, calls.thread_id, calls.name AS api_name,
       calls.start_ns AS api_start_ns, calls.end_ns AS api_end_ns,
       act.device_id, act.context_id, act.stream_id, act.start_ns, act.end_ns,
       act.kind, act.category, act.name, act.bytes, act.graph_id, act.graph_node_id,
       act.graph_id IS NOT NULL OR act.graph_node_id IS NOT NULL
           OR coalesce(contains(calls.name, 'GraphLaunch'), false) AS is_graph
FROM gpu_activity AS act
JOIN api_call AS calls USING (process_id, correlation_id)
ANTI JOIN _shared_correlation AS shared USING (process_id, correlation_id)
UNION ALL
SELECT act.process_id, act.correlation_id, calls.thread_id, calls.name, calls.start_ns,
       calls.end_ns, act.device_id, act.context_id, act.stream_id, act.start_ns, act.end_ns,
       act.kind, act.category, act.name, act.bytes, act.graph_id, act.graph_node_id,
       act.graph_id IS NOT NULL OR act.graph_node_id IS NOT NULL
           OR coalesce(contains(calls.name, 'GraphLaunch'), false)
FROM (SELECT * FROM gpu_activity SEMI JOIN _shared_correlation USING (process_id, correlation_id))
    AS act
ASOF JOIN _shared_launch AS calls
    ON calls.process_id = act.process_id
    AND calls.correlation_id = act.correlation_id
    AND calls.start_ns <= act.start_ns
