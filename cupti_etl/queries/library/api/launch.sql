-- The API calls that asked for the work in gpu_activity: at most one row per process_id and
-- correlation_id, so that joining it to kernels or copies never doubles them.
--
-- computed: Calls of which gpu_activity has the process_id and correlation_id. Of a runtime call
--   and the driver call inside it, which share the id, the runtime call is taken.
-- needs: api_call, gpu_activity
-- limits: Calls that failed, or whose work was not recorded, are not here; see api_call. Work
--   launched before the capture began, or from a call that was not recorded, has no row.
-- columns:
--   api_call.*
SELECT *
FROM api_call
SEMI JOIN gpu_activity USING (process_id, correlation_id)
QUALIFY row_number() OVER (
    PARTITION BY process_id, correlation_id
    ORDER BY domain = 'runtime' DESC, start_ns, end_ns DESC
) = 1
