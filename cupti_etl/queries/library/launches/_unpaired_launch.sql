-- What is to be added to one call for each activity, for each call to count once.
--
-- computed: Of the activities of _unpaired_correlation, -1 each, and 1 for each call that asked for
--   some of them, where its first one began.
-- requires:
--   _unpaired_correlation: each activity has a call of its own, or no call was recorded.
-- limits: As of _shared_launch.
-- scope: whole
-- columns:
--   process_id, gpu, start_ns of gpu_interval
--   launches INTEGER [calls]: 1 or -1.
WITH others AS MATERIALIZED (
    SELECT act.process_id, act.correlation_id, calls, act.start_ns, device_id, gpu
    FROM gpu_interval AS act
    JOIN _unpaired_correlation AS unpaired USING (process_id, correlation_id)
)
SELECT process_id, gpu, start_ns, -1 AS launches FROM others
UNION ALL
SELECT process_id, arg_min(gpu, (start_ns, device_id)), min(start_ns), 1
FROM others
WHERE calls = 1
GROUP BY process_id, correlation_id
UNION ALL
SELECT act.process_id, arg_min(gpu, (act.start_ns, device_id)), min(act.start_ns), 1
FROM (FROM others WHERE calls > 1) AS act
ASOF JOIN _shared_launch AS shared
    ON shared.process_id = act.process_id
    AND shared.correlation_id = act.correlation_id
    AND shared.start_ns <= act.start_ns
GROUP BY act.process_id, act.correlation_id, shared.start_ns
