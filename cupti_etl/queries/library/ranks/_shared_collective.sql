-- Collective operations that end together and are in the trace of each of its ranks.
--
-- computed: Operations of _collective_match of the kinds that end together, those that as many
--   ranks have as have any.
-- requires: _collective
-- limits: Only processes with a rank. Broadcasts and sends do not end together.
-- scope: start_ns
-- columns:
--   rank INTEGER: The rank.
--   operation BIGINT: Number of the operation, as in _collective_match.
--   start_ns BIGINT [epoch ns]: When it began on the rank.
--   end_ns BIGINT [epoch ns]: When it ended there.
--   n BIGINT [ranks]: Ranks that have it.
WITH members AS (
    SELECT rank, operation, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM _collective_match
    WHERE rank IS NOT NULL AND ends_together
    GROUP BY rank, operation
),
world AS (
    SELECT count(DISTINCT rank) AS n FROM members
)
SELECT members.*, n
FROM members, world
WHERE n >= 2
QUALIFY count(*) OVER (PARTITION BY operation) = n
