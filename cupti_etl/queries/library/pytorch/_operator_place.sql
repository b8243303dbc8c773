-- Where each operator of PyTorch is in the tree of its thread.
--
-- computed: place counts the ranges of _operator_span in the order of their starts, thread by
--   thread, the longer first; what ends lets go before the next begins, and what lasts no time has
--   nothing inside. Those that lie in one have the places from its own to last_place.
-- materialized: Made once for an opened trace, in one pass with a stack.
-- scope: whole
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   parent_range_id BIGINT: The innermost one that lasts as long; NULL if there is none.
--   place BIGINT: Its number among all.
--   last_place BIGINT: Number of the last one inside it; its own if there is none.
--   is_crossed BOOLEAN: Whether it outlasts one in which it began, or one that began in it does.
WITH events AS (
    SELECT process_id, thread_id, start_ns AS at_ns,
           CASE WHEN end_ns > start_ns THEN 1 ELSE 2 END AS turn, -end_ns AS longer, range_id,
           end_ns, 1 AS step
    FROM _operator_span
    UNION ALL
    SELECT process_id, thread_id, end_ns, CASE WHEN end_ns > start_ns THEN 0 ELSE 2 END,
           -end_ns, range_id, end_ns, -1
    FROM _operator_span
),
began AS (
    SELECT range_id, end_ns, sum(greatest(step, 0)) OVER (
               ORDER BY process_id, thread_id, at_ns, turn, longer, range_id, step DESC
               ROWS UNBOUNDED PRECEDING
           ) AS places
    FROM events
),
placed AS MATERIALIZED (
    SELECT range_id, any_value(end_ns) AS end_ns, min(places)::BIGINT AS place,
           max(places)::BIGINT AS last_place
    FROM began
    GROUP BY range_id
),
inside AS MATERIALIZED (
    SELECT one.range_id, around.range_id AS around_id, around.place,
           one.end_ns > around.end_ns AS is_longer
    FROM placed AS one
    JOIN placed AS around ON around.place < one.place AND around.last_place >= one.place
),
parents AS (
    SELECT range_id, arg_max(around_id, place) AS parent_range_id
    FROM inside
    WHERE NOT is_longer
    GROUP BY range_id
),
crossed AS (
    SELECT range_id FROM inside WHERE is_longer
    UNION
    SELECT around_id FROM inside WHERE is_longer
)
SELECT range_id, parent_range_id, place, last_place,
       range_id IN (FROM crossed) AS is_crossed
FROM placed
LEFT JOIN parents USING (range_id)
