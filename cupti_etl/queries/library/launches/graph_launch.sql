-- API calls that launched CUDA graphs: all work of one of them is one launch.
--
-- computed: Calls whose name says so: cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch and their
--   variants.
-- none: no call launched a CUDA graph.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins the call and its work.
SELECT DISTINCT process_id, correlation_id
FROM api_call
WHERE contains(name, 'GraphLaunch') AND process_id IS NOT NULL AND correlation_id IS NOT NULL
