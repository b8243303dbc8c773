-- The processes of an export for viewers: how each is numbered and shown.
--
-- computed: Rows of process, ordered by rank, host, pid and start. Of processes with the same pid,
--   as of several hosts or containers, each is shown with a number above all that Linux gives.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   place BIGINT: Its number, from 1; 0 is for what is of no process.
--   pid BIGINT: The pid that is shown.
--   name VARCHAR: Rank and command line, and the host where there are several.
WITH known AS (
    SELECT process_id, min(pid) AS pid, min(rank) AS rank, min(host) AS host, min(argv) AS argv,
           min(start_ns) AS start_ns
    FROM process
    WHERE process_id IS NOT NULL
    GROUP BY process_id
),
numbered AS (
    SELECT *,
           row_number() OVER (ORDER BY rank NULLS LAST, host, pid, start_ns, process_id) AS place,
           count(*) OVER (PARTITION BY pid) AS namesakes,
           (SELECT count(DISTINCT host) FROM known) AS hosts
    FROM known
)
SELECT process_id, place,
       CASE WHEN pid > 0 AND namesakes = 1 THEN pid ELSE 4194304 + place END AS pid,
       concat('rank ' || rank || ': ', coalesce(argv, concat('process ', pid)),
              CASE WHEN hosts > 1 THEN ' on ' || host END) AS name
FROM numbered
ORDER BY place
