-- Why each GPU was idle: every gap split among its causes, which add to its length.
--
-- computed: The end of a gap, from when the call that asked for the next activity had returned, or
--   one that asked for work of any stream that began later, is queued: the device had the work and
--   did not begin it. The rest is split by _host_activity of the process of the next activity; time
--   in none of its states is outside CUDA. Where the call for the next activity was not recorded,
--   as it was made before the recording began, it is not known why the activity came when it did,
--   and all of the gap is unknown. Of a trace of PyTorch's profiler, which begins while the program
--   runs, so is what would be queued for 20 us and more before the first work of a stream, on which
--   work from before may have run.
-- requires: gpu_activity
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap
-- none: no GPU was idle for a microsecond.
-- limits: Host threads are put together: a thread that waits hides what another computes. Waits
--   for events of other streams are part of queued.
-- front: Why was the GPU idle, gap by gap?
-- first: gap_ns, cause, start_ns, gpu, outside_ns, queued_ns, waiting_ns, launching_ns, loading_ns,
--   memory_ns, next_name
-- label: next_name = kernel(next_kind)
-- example: cupti-etl query gap_attribution TRACE --param min_ns=100000
-- parameters:
--   min_ns BIGINT = 1000 [ns]: Shortest gap that is taken into account.
-- columns:
--   _gap_cause.*
SELECT *
FROM _gap_cause
WHERE gap_ns >= min_ns
ORDER BY gap_ns DESC, gpu, start_ns
