-- How busy each GPU was over time, in buckets of one width.
--
-- computed: _busy_interval and _gpu_span cut at the edges of the buckets and summed; as in
--   busy_breakdown, to whose times the buckets of a GPU add, what is hidden by compute counts as
--   compute. The first bucket begins with the GPU's first activity, or with a part of a trace.
-- requires: _gpu_span
-- parameters:
--   bucket_ns BIGINT = NULL [ns]: Width of a bucket; NULL for a hundredth of the longest span.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: Begin of the bucket.
--   busy_pct DOUBLE [%]: Share with any activity of the bucket's time that was recorded and before
--     the GPU's last end; NULL if there is none.
--   compute_ns BIGINT [ns]: Time with compute.
--   exposed_communication_ns BIGINT [ns]: Time with communication and no compute.
--   exposed_copy_ns BIGINT [ns]: Time with a copy or memset, and neither of these.
--   idle_ns BIGINT [ns]: The rest of that time.
WITH spans AS (
    SELECT gpu, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM _gpu_span GROUP BY gpu
),
width AS (
    SELECT CASE WHEN bucket_ns < 1 THEN error('bucket_ns must be 1 or more')
                WHEN span_ns // 10000000 >= bucket_ns
                THEN error(concat('bucket_ns = ', bucket_ns,
                                  ' makes more than ten million buckets: give ',
                                  span_ns // 10000000 + 1, ' or more'))
                ELSE coalesce(bucket_ns, greatest(TRY_CAST(ceil(span_ns / 100.0) AS BIGINT), 1)) END
                    AS width
    FROM (SELECT max(last_ns - first_ns) AS span_ns FROM spans)
),
buckets AS (
    SELECT gpu, first_ns + width
               * unnest(range(greatest((last_ns - first_ns + width - 1) // width, 1))) AS start_ns
    FROM spans, width
),
pieces AS (
    SELECT gpu, work, first_ns + n * width AS bucket_start_ns,
           least(end_ns, first_ns + (n + 1) * width) - greatest(start_ns, first_ns + n * width)
               AS length_ns
    FROM (
        SELECT gpu, work, start_ns, end_ns, first_ns, width,
               unnest(range((start_ns - first_ns) // width,
                            (greatest(end_ns - 1, start_ns) - first_ns) // width + 1)) AS n
        FROM (FROM _busy_interval
              UNION ALL BY NAME
              SELECT *, 'seen' AS work FROM _gpu_span)
        JOIN spans USING (gpu), width
    )
),
sums AS (
    SELECT gpu, bucket_start_ns,
           TRY_CAST(sum(length_ns) FILTER (WHERE work = 'seen') AS BIGINT) AS seen_ns,
           TRY_CAST(coalesce(sum(length_ns) FILTER (WHERE work = 'any'), 0) AS BIGINT) AS any_ns,
           TRY_CAST(coalesce(sum(length_ns)
                    FILTER (WHERE work = 'compute_or_communication'), 0) AS BIGINT) AS gpu_work_ns,
           TRY_CAST(coalesce(sum(length_ns) FILTER (WHERE work = 'compute'), 0) AS BIGINT)
               AS compute_ns
    FROM pieces
    GROUP BY gpu, bucket_start_ns
)
SELECT buckets.gpu, buckets.start_ns,
       100.0 * any_ns / nullif(seen_ns, 0) AS busy_pct,
       coalesce(compute_ns, 0) AS compute_ns,
       coalesce(gpu_work_ns - compute_ns, 0) AS exposed_communication_ns,
       coalesce(any_ns - gpu_work_ns, 0) AS exposed_copy_ns,
       coalesce(seen_ns - any_ns, 0) AS idle_ns
FROM buckets
LEFT JOIN sums ON sums.gpu = buckets.gpu AND sums.bucket_start_ns = buckets.start_ns
ORDER BY buckets.gpu, buckets.start_ns
