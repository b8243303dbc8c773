-- With which other process the clock of each is compared, on the way to the first rank.
--
-- computed: Processes with four operations and more of one group are linked, by its name or its
--   communicator, and so are those of one host, which have one clock. Each is compared with the
--   next one on the way with the fewest links to the first rank that any leads to: of several such
--   with one of its host, or else of the group of which it has most operations. The first of those
--   that no way connects with the first rank is compared with that all the same, by operations of
--   one kernel: not all groups have a name.
-- requires: _collective
-- scope: whole
-- columns:
--   process_id, rank of _collective
--   other_id BIGINT: The process that it is compared with; NULL of the first.
--   is_host BOOLEAN: Whether that is one of its host; NULL of the first.
WITH RECURSIVE ranks AS MATERIALIZED (
    SELECT process_id, rank, host, row_number() OVER (ORDER BY rank, process_id) AS place
    FROM (SELECT DISTINCT process_id, rank FROM _collective)
    LEFT JOIN (SELECT process_id, any_value(host) AS host FROM process GROUP BY process_id)
        USING (process_id)
),
members AS MATERIALIZED (
    SELECT place, hash('host', host) AS circle, true AS is_host, NULL::BIGINT AS operations
    FROM ranks
    WHERE host IS NOT NULL
    UNION ALL
    SELECT place, circle, false, count(*)
    FROM (SELECT process_id, hash('group', process_group) AS circle
          FROM _clock_end WHERE process_group IS NOT NULL
          UNION ALL
          SELECT process_id, hash('communicator', communicator)
          FROM _clock_end WHERE communicator IS NOT NULL)
    JOIN ranks USING (process_id)
    GROUP BY place, circle
    HAVING count(*) >= 4
),
-- In each turn a circle passes on the best way of those of its members that have got a better one.
ways USING KEY (place) AS (
    SELECT place, place AS "first", 0 AS links, NULL::BIGINT AS other, false AS is_host FROM ranks
    UNION
    SELECT members.place, best."first", best.links + 1, best.place, members.is_host
    FROM (SELECT circle, min({'first': "first", 'links': links, 'place': ways.place}) AS best
          FROM ways
          JOIN members ON members.place = ways.place
          GROUP BY circle) AS offers
    JOIN members ON members.circle = offers.circle
    JOIN recurring.ways AS own ON own.place = members.place
    WHERE (best."first", best.links + 1) < (own."first", own.links)
    QUALIFY row_number() OVER (
        PARTITION BY members.place
        ORDER BY best."first", best.links, members.is_host DESC, operations DESC, best.place
    ) = 1
)
SELECT ranks.process_id, ranks.rank, others.process_id AS other_id,
       CASE WHEN ranks.place > 1 THEN is_host END AS is_host
FROM ways
JOIN ranks ON ranks.place = ways.place
LEFT JOIN ranks AS others ON others.place = coalesce(other, 1) AND ranks.place > 1
