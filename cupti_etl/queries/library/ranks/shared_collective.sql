-- Collective operations that end together and are in the trace of each of its ranks.
--
-- computed: Operations of collective are matched over ranks by kernel name, group and number; of
--   the kinds that end together, those that as many ranks have as have any.
-- needs: collective
-- limits: Only processes with a rank. Broadcasts and sends do not end together.
-- columns:
--   rank INTEGER: The rank.
--   name VARCHAR: Mangled name of the kernel, and its group if that is known.
--   number BIGINT: Number among those of its name, group and rank, from 0.
--   start_ns BIGINT [ns]: When it began on the rank.
--   end_ns BIGINT [ns]: When it ended there.
--   n BIGINT [ranks]: Ranks that have it.
WITH members AS (
    SELECT rank, concat_ws(' of ', name, process_group) AS name, number,
           min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM collective
    WHERE rank IS NOT NULL AND collective IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AllToAll')
    GROUP BY ALL
),
world AS (
    SELECT count(DISTINCT rank) AS n FROM members
)
SELECT members.*, n
FROM members, world
WHERE n >= 2
QUALIFY count(*) OVER (PARTITION BY name, number) = n
