-- How long each GPU waited for another rank in communication, and computed nothing.
--
-- computed: The union of the waiting of _collective_wait and of _send_wait on a GPU, without the
--   time in which it computed. What two operations wait for at a time is of the one that began
--   first.
-- requires: _collective
-- lookup: _busy_interval
-- columns:
--   gpu BIGINT: Number of the GPU that waited, as in gpu.
--   process_id BIGINT: Its process.
--   last_rank INTEGER: Rank that was waited for, as it was the last; NULL if it has none.
--   last_gpu BIGINT: Its GPU.
--   is_send BOOLEAN: Whether it waited in sends and receives, and not in collectives.
--   wait_ns BIGINT [ns]: Time waited.
WITH lasts AS (
    SELECT operation, rank AS last_rank, gpu AS last_gpu FROM _collective_wait WHERE is_last
),
waits AS (
    SELECT gpu, process_id, last_rank, last_gpu, false AS is_send, start_ns,
           start_ns + wait_ns AS until_ns
    FROM _collective_wait
    JOIN lasts USING (operation)
    WHERE wait_ns > 0
    UNION ALL
    SELECT gpu, process_id, last_rank, last_gpu, true, start_ns, start_ns + wait_ns
    FROM _send_wait
    WHERE wait_ns > 0
),
apart AS (
    SELECT waits.* REPLACE (greatest(start_ns, coalesce(max(until_ns) OVER (
               PARTITION BY gpu ORDER BY start_ns, until_ns, is_send, last_gpu
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), start_ns)) AS start_ns)
    FROM waits
),
edges AS (
    SELECT * EXCLUDE (start_ns, until_ns), unnest([start_ns, until_ns]) AS at_ns,
           unnest([-1, 1]) AS sign
    FROM apart
    WHERE start_ns < until_ns
)
SELECT edges.gpu, process_id, last_rank, last_gpu, is_send,
       TRY_CAST(sum(sign * (at_ns - coalesce(
           busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns, 0
       ))) AS BIGINT) AS wait_ns
FROM edges
ASOF LEFT JOIN (FROM _busy_interval WHERE work = 'compute') AS busy
    ON busy.gpu = edges.gpu AND busy.start_ns <= edges.at_ns
GROUP BY edges.gpu, process_id, last_rank, last_gpu, is_send
