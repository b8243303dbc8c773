-- Small copies, and which of them follow each other in a run.
--
-- computed: Finished copies of a stream in their order; a run is of neighbours with the same
--   direction, at most max_bytes each and begun at most 100 us after the end of the one before,
--   without a kernel that began on the GPU between them (_busy_interval): it may make, or need,
--   what is copied.
-- parameters:
--   max_bytes BIGINT = 65536 [bytes]: Largest copy that is small.
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   context_id INTEGER: Context.
--   stream_id INTEGER: Stream.
--   run HUGEINT: Number of the run in its stream.
--   copy_kind, bytes of memcpy
--   duration_ns BIGINT [ns]: How long it took.
--   before_ns BIGINT [ns]: From the end of the copy before in its run, or of a kernel that ran
--     then, to its begin; 0 of the first.
WITH gpus AS (
    SELECT DISTINCT process_id, device_id, gpu FROM gpu_interval WHERE kind = 'memcpy'
),
kernels AS (
    SELECT gpu, start_ns AS kernel_ns, end_ns AS kernel_end_ns
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
),
copies AS (
    SELECT process_id, device_id, context_id, stream_id, copy_kind, bytes, start_ns, end_ns,
           lag(copy_kind) OVER stream AS previous_kind, lag(bytes) OVER stream AS previous_bytes,
           lag(end_ns) OVER stream AS previous_end_ns
    FROM memcpy
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    WINDOW stream AS (
        PARTITION BY process_id, device_id, context_id, stream_id ORDER BY start_ns, end_ns
    )
),
-- With whether a kernel began since the copy before.
placed AS (
    SELECT copies.*, coalesce(kernel_ns >= previous_end_ns, false) AS is_after_kernel,
           greatest(start_ns - greatest(previous_end_ns, kernel_end_ns), 0) AS before_ns
    FROM copies
    LEFT JOIN gpus
        ON gpus.process_id = copies.process_id
        AND gpus.device_id IS NOT DISTINCT FROM copies.device_id
    ASOF LEFT JOIN kernels ON kernels.gpu = gpus.gpu AND kernels.kernel_ns <= copies.start_ns
),
joined AS (
    SELECT *, coalesce(previous_kind = copy_kind AND previous_bytes <= max_bytes
                       AND NOT is_after_kernel AND start_ns - previous_end_ns <= 100000, false)
                  AS is_next
    FROM placed
),
numbered AS (
    SELECT *, sum(CASE WHEN is_next THEN 0 ELSE 1 END) OVER (
               PARTITION BY process_id, device_id, context_id, stream_id ORDER BY start_ns, end_ns
               ROWS UNBOUNDED PRECEDING
           ) AS run
    FROM joined
)
SELECT process_id, device_id, context_id, stream_id, run, copy_kind, bytes,
       end_ns - start_ns AS duration_ns, CASE WHEN is_next THEN before_ns ELSE 0 END AS before_ns
FROM numbered
WHERE bytes <= max_bytes
