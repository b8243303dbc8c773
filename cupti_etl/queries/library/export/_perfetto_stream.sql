-- The streams of a Perfetto trace: where the work of each is shown.
--
-- computed: Streams of gpu_activity, in the order of their GPUs, processes and numbers.
-- scope: whole
-- columns:
--   stream_key UBIGINT: What _perfetto_work calls it.
--   place BIGINT: Number of the stream, from 1.
--   process_place BIGINT: Number of its process; 0 if that is not known.
--   context_place BIGINT: Number of its context among all processes, from 1.
--   pid BIGINT: The pid that is shown; NULL if the process is not known.
--   gpu BIGINT: Number of the GPU, as in gpu; behind these, its ordinal, if it is not there.
--   device_id BIGINT: CUDA ordinal of the GPU in its process; 0 if it is not known.
--   stream_id BIGINT: The stream; 0 if it is not known.
--   name VARCHAR: What it is called.
WITH streams AS (
    SELECT DISTINCT process_id, device_id, context_id, stream_id
    FROM gpu_activity
    WHERE start_ns >= 0
),
gpus AS (
    SELECT process_id, device_id, min(gpu) AS gpu FROM gpu GROUP BY process_id, device_id
),
found AS (
    SELECT streams.*, coalesce(processes.place, 0) AS process_place, processes.pid,
           coalesce(gpus.gpu, coalesce((SELECT max(gpu) + 1 FROM gpu), 0)
                              + coalesce(streams.device_id, 0)) AS gpu
    FROM streams
    LEFT JOIN _export_process AS processes ON processes.process_id = streams.process_id
    LEFT JOIN gpus
        ON gpus.process_id = streams.process_id AND gpus.device_id = streams.device_id
)
SELECT hash(process_id, device_id, context_id, stream_id) AS stream_key,
       row_number() OVER (
           ORDER BY gpu, process_place, process_id, device_id, context_id, stream_id
       ) AS place,
       process_place,
       dense_rank() OVER (ORDER BY process_place, process_id, context_id) AS context_place,
       pid, gpu, coalesce(device_id, 0)::BIGINT AS device_id,
       coalesce(stream_id, 0)::BIGINT AS stream_id,
       concat('stream ', coalesce(stream_id, 0),
              CASE WHEN (SELECT count(DISTINCT process_id) FROM found) > 1
                   THEN concat(' of process ', pid) END) AS name
FROM found
ORDER BY place
