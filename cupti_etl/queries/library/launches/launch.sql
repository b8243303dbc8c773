-- The API calls that asked for the work in gpu_activity.
--
-- computed: Calls of which gpu_activity has the process_id and correlation_id. Of calls with the
--   same id that contain one another the outermost is taken, so a runtime call and not the driver
--   call inside it.
-- limits: Calls that failed, or whose work was not recorded, are not here; see api_call. Work
--   launched before the capture began, or from a call that was not recorded, has no row. An id has
--   several rows if it began anew after 2^32 calls; launch_to_gpu tells them apart.
-- scope: host start_ns
-- columns:
--   api_call.*
SELECT api_call.*
FROM api_call
ANTI JOIN _shared_correlation USING (process_id, correlation_id)
SEMI JOIN gpu_activity USING (process_id, correlation_id)
UNION ALL
FROM _shared_launch
