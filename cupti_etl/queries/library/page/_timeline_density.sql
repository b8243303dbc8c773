-- What is too short to be drawn one by one: things of the timeline counted in buckets of time.
--
-- computed: At each level, the things of _timeline_item up to that level, by lane, row and
--   category, in the bucket in which they begin. A bucket is 262,144 ns wide at level 2, and four
--   times as wide at each further one; its rows are added up from those of the level below. There
--   would be about as many buckets of the levels before as there are things.
-- materialized: Made once for an opened trace, sorted so that a window reads few of the rows.
-- scope: whole
-- columns:
--   level INTEGER: The level, from 2 to 12.
--   lane INTEGER: The lane.
--   depth INTEGER: The row of the lane.
--   category VARCHAR: What has one colour.
--   bucket BIGINT: Number of the bucket: its start in ns since the trace's beginning by its width.
--   start_ns BIGINT [ns]: When the first of them began, since the trace's beginning.
--   end_ns BIGINT [ns]: When the last one ended.
--   label VARCHAR: Its name, if it is one alone.
--   items BIGINT: How many things.
--   busy_ns BIGINT [ns]: Their length, added up.
--   weighted DOUBLE: Of samples, the values times the lengths, added up; NULL for others.
WITH RECURSIVE own AS MATERIALIZED (
    -- Each level's own things, in one pass.
    SELECT greatest(level, 2) AS level, lane, depth, category,
           start_ns // (16384::BIGINT << (2 * greatest(item.level, 2))) AS bucket,
           min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           CASE WHEN count(*) = 1 THEN any_value(label) END AS label, count(*) AS items,
           TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS busy_ns,
           sum(value * (end_ns - start_ns)) AS weighted
    FROM _timeline_item AS item
    WHERE item.level <= 12
    GROUP BY ALL
),
counted AS (
    FROM own WHERE level = 2
    UNION ALL
    -- A level may have no rows: this one keeps on.
    SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL
    UNION ALL
    SELECT next_level, lane, depth, category, bucket, min(start_ns), max(end_ns),
           CASE WHEN sum(items) = 1 THEN any_value(label) END, TRY_CAST(sum(items) AS BIGINT),
           TRY_CAST(sum(busy_ns) AS BIGINT), sum(weighted)
    FROM (
        SELECT level + 1 AS next_level, lane, depth, category, bucket // 4 AS bucket, start_ns,
               end_ns, label, items, busy_ns, weighted
        FROM counted
        WHERE level < 12
        UNION ALL
        SELECT own.*
        FROM own
        JOIN (SELECT DISTINCT level + 1 AS level FROM counted WHERE level < 12) AS next
            ON next.level = own.level
    )
    GROUP BY ALL
)
SELECT level, lane, depth, category, bucket, start_ns, end_ns, label, items, busy_ns, weighted
FROM counted
WHERE lane IS NOT NULL
ORDER BY level, start_ns
