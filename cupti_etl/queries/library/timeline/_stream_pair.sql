-- How long each two streams of a GPU were at work together: its 60 busiest ones, in pairs.
--
-- computed: Lengths of unions, over all finished activities of a stream. The streams at work make a
--   set, bits of a number, which changes when one begins or ends its work; a pair has the time of
--   the sets that it is in.
-- materialized: Made with _running_kernels, in one sweep.
-- limits: The number of pairs grows with the square of the streams, so that others are left out.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   place BIGINT: Place of the stream among those of the GPU, the busiest first, from 0.
--   process_id BIGINT: Its process.
--   context_id INTEGER: Its context.
--   stream_id INTEGER: The stream.
--   busy_ns BIGINT [ns]: Time with work in it.
--   other_place BIGINT: Place of the other stream.
--   other_process_id BIGINT: Its process.
--   other_context_id INTEGER: Its context.
--   other_stream_id INTEGER: The other stream.
--   overlap_ns BIGINT [ns]: Time with work in both.
WITH events AS (
    SELECT gpu, process_id, context_id, stream_id, unnest([start_ns, end_ns]) AS at_ns,
           unnest([1, -1]) AS step
    FROM gpu_interval
),
-- 1 where the stream begins to work, -1 where it falls idle.
turns AS (
    SELECT gpu, process_id, context_id, stream_id, at_ns,
           (running > 0)::TINYINT - (running - step > 0)::TINYINT AS turn
    FROM (
        SELECT *, sum(step) OVER (
                   PARTITION BY gpu, process_id, context_id, stream_id ORDER BY at_ns
                   ROWS UNBOUNDED PRECEDING
               ) AS running
        FROM events
    )
),
busiest AS (
    SELECT *, row_number() OVER (
               PARTITION BY gpu ORDER BY busy_ns DESC, process_id, context_id, stream_id
           ) - 1 AS place
    FROM (
        SELECT gpu, process_id, context_id, stream_id,
               TRY_CAST((-sum(turn * at_ns)) AS BIGINT) AS busy_ns
        FROM turns
        GROUP BY gpu, process_id, context_id, stream_id
    )
    QUALIFY place < 60
),
sets AS (
    SELECT gpu, members, sum(until_ns - at_ns) AS total_ns
    FROM (
        SELECT turns.gpu, at_ns,
               sum(turn * (1::BIGINT << place)) OVER (
                   PARTITION BY turns.gpu ORDER BY at_ns ROWS UNBOUNDED PRECEDING
               ) AS members,
               lead(at_ns) OVER (PARTITION BY turns.gpu ORDER BY at_ns) AS until_ns
        FROM turns
        JOIN busiest
            ON busiest.gpu = turns.gpu
            AND busiest.process_id IS NOT DISTINCT FROM turns.process_id
            AND busiest.context_id IS NOT DISTINCT FROM turns.context_id
            AND busiest.stream_id IS NOT DISTINCT FROM turns.stream_id
    )
    WHERE until_ns > at_ns
    GROUP BY gpu, members
)
SELECT one.gpu, one.place, one.process_id, one.context_id, one.stream_id, one.busy_ns,
       other.place AS other_place, other.process_id AS other_process_id,
       other.context_id AS other_context_id, other.stream_id AS other_stream_id,
       TRY_CAST(coalesce(sum(total_ns) FILTER (
           WHERE members >> one.place & 1 = 1 AND members >> other.place & 1 = 1
       ), 0) AS BIGINT) AS overlap_ns
FROM busiest AS one
JOIN busiest AS other ON other.gpu = one.gpu AND other.place != one.place
LEFT JOIN sets ON sets.gpu = one.gpu
GROUP BY ALL
