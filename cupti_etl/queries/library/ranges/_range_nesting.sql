-- Begins and ends of NVTX ranges, each with the range that is around it on its thread.
--
-- computed: Of a begin, the last range of the thread that began before and does not end before
--   it; of ranges that begin at once the longer is outside. Of an end, the last range that began
--   by then and goes on. Ranges may cross: one that is in the middle of ending is passed over.
--   The last before a place that lasts as long is searched in blocks of 1, 2, 4 and so on, in
--   which a range stays only while none behind it lasts as long: n log n whatever crosses.
-- limits: Ranges without a start are not here. Ranges whose thread is not known lie in each other.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   at_ns BIGINT [epoch ns]: When it began, or when one or more ended.
--   end_ns BIGINT [epoch ns]: Of a begin, when the range ends; NULL if it did not while tracing.
--   range_id BIGINT: Of a begin, the range, as in nvtx_range; NULL for an end.
--   around_id BIGINT: The range around it; NULL if there is none.
WITH RECURSIVE ranges AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, end_ns, range_id,
           coalesce(end_ns, 9223372036854775807) AS until_ns
    FROM _range_span
    WHERE start_ns IS NOT NULL
),
-- What is around must last until need_ns; only ranges can be around.
events AS (
    SELECT process_id, thread_id, start_ns AS at_ns, end_ns, range_id, until_ns,
           until_ns AS need_ns
    FROM ranges
    UNION ALL
    SELECT DISTINCT process_id, thread_id, end_ns, NULL::BIGINT, NULL::BIGINT, NULL::BIGINT,
           end_ns + 1
    FROM ranges
    WHERE end_ns > start_ns AND end_ns < 9223372036854775807
),
placed AS MATERIALIZED (
    SELECT *, dense_rank() OVER (ORDER BY process_id, thread_id) AS thread,
           row_number() OVER line - 1 AS place,
           count(*) OVER (PARTITION BY process_id, thread_id) AS places
    FROM events
    WINDOW line AS (
        PARTITION BY process_id, thread_id
        ORDER BY at_ns, range_id IS NULL, until_ns DESC, range_id
    )
),
-- Each left block offers its ranges to the right one beside it; then the two are one.
search AS (
    SELECT thread, place, place AS block, places AS blocks, until_ns, need_ns,
           NULL::BIGINT AS around
    FROM placed
    UNION ALL
    SELECT thread, place, block // 2, (blocks + 1) // 2,
           CASE WHEN block % 2 = 1 OR later_ns IS NULL OR later_ns < until_ns THEN until_ns END,
           CASE WHEN block % 2 = 0 OR nearest IS NULL THEN need_ns END,
           CASE WHEN block % 2 = 1 AND need_ns IS NOT NULL THEN nearest END
    FROM (
        SELECT *, max(CASE WHEN block % 2 = 1 THEN until_ns END) OVER pair AS later_ns,
               first_value(CASE WHEN block % 2 = 0 AND until_ns IS NOT NULL THEN place END
                           IGNORE NULLS) OVER upwards AS nearest
        FROM search
        WHERE blocks > 1 AND (until_ns IS NOT NULL OR need_ns IS NOT NULL)
        WINDOW pair AS (PARTITION BY thread, block // 2),
               upwards AS (
                   PARTITION BY thread, block // 2
                   ORDER BY CASE WHEN block % 2 = 0 THEN until_ns ELSE need_ns END, block % 2 DESC
                   ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
               )
    )
)
SELECT placed.process_id, placed.thread_id, placed.at_ns, placed.end_ns, placed.range_id,
       around.range_id AS around_id
FROM placed
LEFT JOIN (SELECT thread, place, around FROM search WHERE around IS NOT NULL) AS found
    USING (thread, place)
LEFT JOIN placed AS around ON around.thread = found.thread AND around.place = found.around
