-- Why each GPU was idle: every gap split among its causes, which add to its length.
--
-- computed: The end of a gap, from when the call that asked for the next activity had returned,
--   is queued: the device had the work and did not begin it. The rest is split by _host_activity of
--   the process of the next activity; time in none of its states is outside CUDA.
--   Where that call was not recorded, as it was made before the recording began, it is not known
--   why the next activity came when it did, and all of the gap is unknown.
-- needs: _gap_cause
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so causes are not known.
--   _gpu_gap: no GPU was idle between two recorded activities.
-- limits: Host threads are put together: a thread that waits hides what another computes. Waits
--   for events of other streams are part of queued.
-- front: Why was the GPU idle, gap by gap?
-- first: gap_ns, cause, start_ns, gpu, outside_ns, launching_ns, waiting_ns, next_name
-- label: next_name = kernel(next_kind)
-- example: cupti-etl query gap_attribution TRACE --param min_ns=100000
-- parameters:
--   min_ns BIGINT = 1000 [ns]: Shortest gap that is taken into account.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: Process whose activity ended the gap.
--   start_ns BIGINT [epoch ns]: When the GPU became idle.
--   gap_ns BIGINT [ns]: Length of the gap; the sum of the following.
--   queued_ns BIGINT [ns]: Work was launched and did not begin.
--   profiler_ns BIGINT [ns]: The host was in CUPTI: what recording costs.
--   loading_ns BIGINT [ns]: Code was loaded or compiled, as it is without a profiler.
--   waiting_ns BIGINT [ns]: The host synchronized, or waited for a copy or a full queue.
--   memory_ns BIGINT [ns]: The host was in another call that allocates, frees, copies or sets.
--   launching_ns BIGINT [ns]: The host was in a launching call.
--   other_cuda_ns BIGINT [ns]: The host was in another CUDA call.
--   outside_ns BIGINT [ns]: The host was not in CUDA: Python, input, other work.
--   unknown_ns BIGINT [ns]: The call that asked for the next activity was not recorded.
--   cause VARCHAR: The largest of these.
--   next_kind VARCHAR: Kind of the activity that ended the gap.
--   next_name VARCHAR: Its name, as in gpu_activity.
SELECT *
FROM _gap_cause
WHERE gap_ns >= min_ns
ORDER BY gap_ns DESC, gpu, start_ns
