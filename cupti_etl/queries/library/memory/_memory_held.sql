-- Memory in use at the end, by process, device and kind.
--
-- computed: The last row of memory_timeline of each.
-- limits: As of memory_timeline.
-- columns:
--   process_id, device_id, memory_kind of memory_timeline
--   in_use_bytes BIGINT [bytes]: Bytes in use.
SELECT process_id, device_id, memory_kind,
       arg_max(in_use_bytes, (timestamp_ns, sign(change_bytes), sign(change_bytes) * in_use_bytes))
           AS in_use_bytes
FROM memory_timeline
GROUP BY process_id, device_id, memory_kind
