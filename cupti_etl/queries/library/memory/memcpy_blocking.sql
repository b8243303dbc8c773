-- Copies and memsets during which the host could do nothing else, and what that cost.
--
-- computed: Synchronous copies and memsets, and asynchronous copies from or to pageable memory,
--   which the driver stages and therefore cannot let run on. Where the trace does not say which it
--   was (imported ones), that follows from the name of the call. Host time is the sum of the
--   durations of the calls; what could be saved is what lies above the median call of asynchronous
--   copies of pinned memory in the trace, or above 5 us where there is none. idle_ns is the part of
--   the calls in which the copy's GPU had no activity.
-- requires: api_call
-- none: no copy or memset kept the host from going on.
-- limits: A synchronous call also waits for work before it on its stream.
-- columns:
--   reason, api_name, kind, copy_kind of _memcpy_blocking
--   src_kind, dst_kind, calls, bytes, host_ns, device_ns, saved_ns, idle_ns of _memcpy_blocking
SELECT reason, api_name, kind, copy_kind, src_kind, dst_kind,
       TRY_CAST(sum(calls) AS BIGINT) AS calls, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
       TRY_CAST(sum(host_ns) AS BIGINT) AS host_ns, TRY_CAST(sum(device_ns) AS BIGINT) AS device_ns,
       TRY_CAST(sum(saved_ns) AS BIGINT) AS saved_ns, TRY_CAST(sum(idle_ns) AS BIGINT) AS idle_ns
FROM _memcpy_blocking
GROUP BY reason, api_name, kind, copy_kind, src_kind, dst_kind
ORDER BY saved_ns DESC, reason, api_name, copy_kind, src_kind, dst_kind
