-- PM samples of each GPU and metric over time, in buckets of one width.
--
-- computed: In a bucket, levels are means of the samples weighted by their time in it, and counts
--   the samples' shares by time; times are on the clock of the activity records (pm_alignment).
--   Missing samples are not filled in: a bucket says how much of it is missing, and has no value
--   without samples. The first bucket begins with the GPU's first sample.
-- requires: pm_sample
-- parameters:
--   bucket_ns BIGINT = NULL [ns]: Width of a bucket; NULL for a hundredth of the longest span.
-- columns:
--   device_uuid VARCHAR: The GPU.
--   start_ns BIGINT [epoch ns]: Begin of the bucket.
--   end_ns BIGINT [epoch ns]: Its end; of the last, that of the last sample.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of the values.
--   value DOUBLE: The mean level, or the count; NULL if no sample has a value.
--   min_value DOUBLE: Least value of a sample that reaches into the bucket.
--   max_value DOUBLE: Largest value of a sample that reaches into the bucket.
--   sampled_ns BIGINT [ns]: Time under samples that have a value.
--   missing_ns BIGINT [ns]: The rest of the bucket.
WITH spans AS (
    SELECT pm_sample.device_uuid, any_value(lag_ns) AS lag_ns,
           min(start_ns - lag_ns) AS first_ns, max(end_ns - lag_ns) AS last_ns
    FROM pm_sample
    JOIN pm_alignment ON pm_alignment.device_uuid = pm_sample.device_uuid
    WHERE end_ns > start_ns
    GROUP BY pm_sample.device_uuid
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
    SELECT device_uuid, metric, unit, first_ns + n * width AS start_ns,
           least(first_ns + (n + 1) * width, last_ns) AS end_ns
    FROM (
        SELECT device_uuid, first_ns, last_ns, width,
               unnest(range((last_ns - first_ns + width - 1) // width)) AS n
        FROM spans, width
    )
    JOIN (SELECT device_uuid, metric, any_value(unit) AS unit FROM pm_metric GROUP BY ALL)
        USING (device_uuid)
),
pieces AS (
    SELECT device_uuid, metric, value, aggregation, length_ns,
           first_ns + n * width AS bucket_start_ns,
           least(end_ns, first_ns + (n + 1) * width) - greatest(start_ns, first_ns + n * width)
               AS overlap_ns
    FROM (
        SELECT samples.device_uuid, samples.metric, value, aggregation, first_ns, width,
               start_ns - lag_ns AS start_ns, end_ns - lag_ns AS end_ns,
               end_ns - start_ns AS length_ns,
               unnest(range((start_ns - lag_ns - first_ns) // width,
                            (end_ns - lag_ns - 1 - first_ns) // width + 1)) AS n
        FROM pm_value AS samples
        JOIN spans ON spans.device_uuid = samples.device_uuid
        JOIN pm_metric AS about
            ON about.device_uuid = samples.device_uuid
            AND about.metric = samples.metric,
            width
        WHERE isfinite(value)
    )
),
sums AS (
    SELECT device_uuid, metric, bucket_start_ns,
           CASE WHEN any_value(aggregation) = 'sum' THEN sum(value * overlap_ns / length_ns)
                ELSE sum(value * overlap_ns) / sum(overlap_ns) END AS value,
           min(value) AS min_value, max(value) AS max_value,
           TRY_CAST(sum(overlap_ns) AS BIGINT) AS sampled_ns
    FROM pieces
    GROUP BY device_uuid, metric, bucket_start_ns
)
SELECT buckets.device_uuid, buckets.start_ns, buckets.end_ns, buckets.metric, buckets.unit,
       sums.value, min_value, max_value, coalesce(sampled_ns, 0) AS sampled_ns,
       buckets.end_ns - buckets.start_ns - coalesce(sampled_ns, 0) AS missing_ns
FROM buckets
LEFT JOIN sums
    ON sums.device_uuid = buckets.device_uuid
    AND sums.metric = buckets.metric
    AND sums.bucket_start_ns = buckets.start_ns
ORDER BY buckets.device_uuid, buckets.metric, buckets.start_ns
