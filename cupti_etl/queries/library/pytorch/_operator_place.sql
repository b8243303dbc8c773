-- Where each operator of PyTorch is in the tree of its thread.
--
-- computed: place counts the ranges of _operator_span in the order of their starts, thread by
--   thread, the longer first; what ends lets go before the next begins, and what lasts no time has
--   nothing inside. Those that lie in one have the places from its own to last_place. None crosses
--   one in which as many end as begin, and the sum of their places is the same: what began before
--   it has lower places.
-- materialized: Made once for an opened trace, in one pass with a stack.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   parent_range_id BIGINT: The innermost one that lasts as long; NULL if there is none.
--   place BIGINT: Its number among all.
--   last_place BIGINT: Number of the last one inside it; its own if there is none.
--   is_crossed BOOLEAN: Whether it outlasts one in which it began, or one that began in it does.
WITH RECURSIVE began AS MATERIALIZED (
    SELECT process_id, thread_id, range_id, start_ns, end_ns,
           CASE WHEN end_ns > start_ns THEN 1 ELSE 2 END AS turn,
           row_number() OVER (
               ORDER BY process_id, thread_id, start_ns, turn, end_ns DESC, range_id
           ) AS place,
           dense_rank() OVER (ORDER BY process_id, thread_id) AS thread
    FROM _operator_span
),
-- Of all that ends at once, what began last ends first.
events AS (
    SELECT place, sum(greatest(step, 0)) OVER line AS begins,
           sum(greatest(-step, 0)) OVER line AS ends,
           sum(greatest(-step, 0) * place) OVER line AS ended
    FROM (
        SELECT thread, start_ns AS at_ns, turn, place, 1 AS step FROM began
        UNION ALL
        SELECT thread, end_ns, CASE turn WHEN 1 THEN 0 ELSE 2 END, place, -1 FROM began
    )
    WINDOW line AS (
        ORDER BY thread, at_ns, turn, CASE turn WHEN 0 THEN -place ELSE place END, step DESC
        ROWS UNBOUNDED PRECEDING
    )
),
placed AS (
    SELECT place, max(begins)::BIGINT AS last_place,
           max(begins) - place != max(ends) - min(ends) - 1
               OR (max(begins) - place) * (max(begins) + place + 1)
                   != 2 * (max(ended) - min(ended) - place) AS is_crossed
    FROM events
    GROUP BY place
),
-- The last before a place that lasts as long: as in _range_nesting.
search AS (
    SELECT thread, place, place - min(place) OVER (PARTITION BY thread) AS block,
           count(*) OVER (PARTITION BY thread) AS blocks,
           CASE turn WHEN 1 THEN end_ns END AS until_ns, end_ns + turn - 1 AS need_ns,
           NULL::BIGINT AS around
    FROM began
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
SELECT began.range_id, around.range_id AS parent_range_id, began.place, last_place, is_crossed
FROM began
JOIN placed USING (place)
LEFT JOIN (SELECT place, around FROM search WHERE around IS NOT NULL) AS found
    ON found.place = began.place
LEFT JOIN began AS around ON around.place = found.around
