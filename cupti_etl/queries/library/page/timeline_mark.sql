-- What a timeline draws of a window of time: things that are long enough one by one, others as how
-- busy they make a bucket of time.
--
-- computed: The rest is counted, by lane and row, in buckets of the smallest of 16,384 ns, four
--   times that, and so on that is at least twice as wide as bucket_ns, and a thing is drawn for
--   itself if it is as long as such a bucket; all are where bucket_ns is 4096 or less. So nothing
--   is left out, whatever the window. Of buckets at its edges, all is counted. Times are since the
--   trace's beginning.
-- limits: As of timeline_lane.
-- lookup: _timeline_item, _timeline_density
-- parameters:
--   from_ns BIGINT = 0 [ns]: Begin of the window.
--   to_ns BIGINT = NULL [ns]: End of the window; NULL for that of the trace.
--   bucket_ns BIGINT = 1000000 [ns]: Time that a pixel is wide, or half of that and more.
-- columns:
--   lane INTEGER: The lane, as in timeline_lane.
--   depth INTEGER: The row of the lane.
--   start_ns BIGINT [ns]: When it began.
--   end_ns BIGINT [ns]: When it ended.
--   label VARCHAR: Name of one thing; NULL where several were counted, and of samples.
--   category VARCHAR: What has one colour; of several, that of which there is most time.
--   items BIGINT: How many things.
--   busy_ns BIGINT [ns]: Their length, added up, but not more than the time that they are in.
--   value DOUBLE: Of samples, the mean over their time; NULL for others.
SELECT lane, depth, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
       CASE WHEN sum(items) = 1 THEN any_value(label) END AS label,
       arg_max(category, (busy_ns, category)) AS category, TRY_CAST(sum(items) AS BIGINT) AS items,
       TRY_CAST(least(sum(busy_ns), max(end_ns) - min(start_ns)) AS BIGINT) AS busy_ns,
       sum(weighted) / nullif(sum(busy_ns), 0) AS value
FROM (
    FROM _timeline_density
    -- As an expression of the parameters alone, so that only rows of the level are read.
    WHERE level = CASE WHEN bucket_ns <= 4096 THEN -1
                       ELSE least(greatest(ceil((log2(bucket_ns) - 13) / 2), 0), 12)::INTEGER END
    UNION ALL BY NAME
    -- Levels 0 and 1 are counted here, in whole buckets: what is in one began in it.
    SELECT lane, depth, category, bucket, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           any_value(label) AS label, count(*) AS items, sum(end_ns - start_ns) AS busy_ns,
           sum(value * (end_ns - start_ns)) AS weighted
    FROM (
        SELECT *, start_ns // CASE WHEN bucket_ns <= 8192 THEN 16384 ELSE 65536 END AS bucket
        FROM _timeline_item
        WHERE level <= CASE WHEN bucket_ns <= 4096 THEN -1 WHEN bucket_ns <= 8192 THEN 0
                            WHEN bucket_ns <= 32768 THEN 1 ELSE -1 END
            AND start_ns < least(coalesce(to_ns, 1::BIGINT << 62), 1::BIGINT << 62) + 65536
            AND start_ns >= greatest(from_ns, 0) - 131072
    )
    GROUP BY lane, depth, category, bucket
)
WHERE start_ns < coalesce(to_ns, 9223372036854775807) AND end_ns >= from_ns
GROUP BY lane, depth, bucket
UNION ALL
SELECT lane, depth, start_ns, end_ns, label, category, 1, end_ns - start_ns, value
FROM _timeline_item
WHERE level > CASE WHEN bucket_ns <= 4096 THEN -1
                   ELSE least(greatest(ceil((log2(bucket_ns) - 13) / 2), 0), 12)::INTEGER END
    AND start_ns < coalesce(to_ns, 9223372036854775807) AND end_ns >= from_ns
ORDER BY lane, depth, start_ns
