-- How long each kernel of sends and receives waited for those of the ranks that it exchanges with.
--
-- computed: Of the pairs of _nccl_pair, on one clock by _clock_base: from when the kernel began
--   until the last of the others did. One that ended before another one began has not waited for
--   that: what it sent was kept for it.
-- requires: _collective
-- limits: As nccl_p2p; of pairs whose clocks have no common base nothing is known.
-- scope: start_ns
-- columns:
--   process_id, gpu of _collective
--   start_ns BIGINT [epoch ns]: When its kernel began, by the clock of its process.
--   wait_ns BIGINT [ns]: How long it waited.
--   last_rank INTEGER: Rank that it waited for; NULL if it has none.
--   last_gpu BIGINT: Its GPU.
WITH pairs AS (
    SELECT process_id, start_ns, end_ns, receive_process_id AS mate_process_id,
           receive_start_ns AS mate_start_ns, receive_end_ns AS mate_end_ns
    FROM _nccl_pair
    UNION
    SELECT receive_process_id, receive_start_ns, receive_end_ns, process_id, start_ns, end_ns
    FROM _nccl_pair
),
-- When the other one began, by the clock of this one.
aligned AS (
    SELECT pairs.*,
           mate_start_ns - mate.ahead_ns
               - coalesce(TRY_CAST(mate.drift_ppm * (mate_end_ns - mate.at_ns) / 1e6 AS BIGINT), 0)
               + mine.ahead_ns
               + coalesce(TRY_CAST(mine.drift_ppm * (end_ns - mine.at_ns) / 1e6 AS BIGINT), 0)
               AS begun_ns
    FROM pairs
    JOIN _clock_base AS mine ON mine.process_id = pairs.process_id
    JOIN _clock_base AS mate
        ON mate.process_id = mate_process_id
        AND mate.base_id = mine.base_id
),
lasts AS (
    SELECT process_id, start_ns, end_ns, max(begun_ns) AS begun_ns,
           arg_max((mate_process_id, mate_start_ns, mate_end_ns), begun_ns) AS mate
    FROM aligned
    WHERE begun_ns BETWEEN start_ns AND end_ns
    GROUP BY process_id, start_ns, end_ns
)
SELECT lasts.process_id, own.gpu, lasts.start_ns, begun_ns - lasts.start_ns AS wait_ns,
       others.rank AS last_rank, others.gpu AS last_gpu
FROM lasts
JOIN _collective AS own USING (process_id, start_ns, end_ns)
JOIN _collective AS others ON (others.process_id, others.start_ns, others.end_ns) = mate
