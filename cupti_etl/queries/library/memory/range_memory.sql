-- Memory that each NVTX range allocated and released, by kind.
--
-- computed: Rows of memory_operation over all ranges with the same path, with those of ranges
--   inside and those of ranges of autograd for which they wait. most_bytes is the most that
--   allocations less releases came to at any time.
-- requires: memory, marker
-- materialized: Few rows, of all allocations.
-- limits: As of memory_operation. What was allocated in another range and is released here makes
--   the balance smaller.
-- front: Which ranges of my code allocate memory?
-- first: path, allocations, allocated_bytes, releases, released_bytes, most_bytes, memory_kind
-- label: path = range(path)
-- chart: bars(path, allocated_bytes)
-- columns:
--   path VARCHAR: Names of the range and of those around it, with * for the numbers of steps, if
--     there are several.
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   ranges BIGINT [ranges]: Ranges that allocated or released some.
--   allocations BIGINT [allocations]: How many.
--   allocated_bytes BIGINT [bytes]: Their sizes.
--   releases BIGINT [releases]: How many.
--   released_bytes BIGINT [bytes]: Their sizes.
--   most_bytes BIGINT [bytes]: The largest balance of the two.
WITH RECURSIVE kinds AS MATERIALIZED (
    -- Paths can be long, and are compared once.
    SELECT alike_range_id, min(alike_range_id) OVER (PARTITION BY kind) AS kind_id
    FROM _alike_path
),
-- Balances are of each line by itself, in the order of places.
operations AS MATERIALIZED (
    SELECT range_id, bytes, operation,
           row_number() OVER (ORDER BY timestamp_ns, operation) AS place,
           dense_rank() OVER (ORDER BY process_id, device_id, memory_kind) AS line,
           process_id, device_id, memory_kind
    FROM memory_operation
    WHERE range_id IS NOT NULL
),
-- Once more for the range that waits for a range of autograd.
done AS MATERIALIZED (
    SELECT asked.* EXCLUDE (range_id), alike_range_id
    FROM (
        SELECT range_id, line, place, operation, bytes FROM operations
        UNION ALL
        SELECT outermost.range_id, line, place, operation, bytes
        FROM operations
        JOIN _range_span AS span ON span.range_id = operations.range_id
        ASOF JOIN _range_outermost AS outermost
            ON outermost.process_id = span.process_id
            AND outermost.thread_id = span.thread_id
            AND outermost.start_ns <= span.start_ns
        WHERE outermost.range_id IS NOT NULL
    ) AS asked
    JOIN _range_parent USING (range_id)
),
-- Ranges that are alike lie in ranges that are alike.
outwards AS MATERIALIZED (
    SELECT first.range_id AS alike_range_id, around.alike_range_id AS around_id
    FROM _range_parent AS first
    JOIN _range_parent AS around ON around.range_id = first.parent_range_id
    WHERE first.alike_range_id = first.range_id
),
around AS (
    SELECT DISTINCT alike_range_id, alike_range_id AS around_id FROM done
    UNION ALL
    SELECT around.alike_range_id, outwards.around_id
    FROM around
    JOIN outwards ON outwards.alike_range_id = around.around_id
),
placed AS MATERIALIZED (
    SELECT around.alike_range_id, around_id, kind_id
    FROM around JOIN kinds ON kinds.alike_range_id = around_id
),
-- Ranges with operations inside, each once.
parents AS MATERIALIZED (
    SELECT range_id, parent_range_id AS around_id
    FROM _range_parent
    WHERE parent_range_id IS NOT NULL
    UNION ALL
    SELECT asking_range_id, range_id
    FROM _range_wait
    WHERE is_clear AND asking_range_id IS NOT NULL
),
active AS (
    SELECT DISTINCT range_id, line FROM operations
    UNION
    SELECT parents.around_id, active.line
    FROM active JOIN parents USING (range_id)
),
counted AS (
    SELECT kind_id, line, count(*) AS ranges
    FROM active JOIN _range_parent USING (range_id) JOIN kinds USING (alike_range_id)
    GROUP BY kind_id, line
),
sums AS (
    SELECT kind_id, line, min(around_id) AS first_id, max(around_id) AS last_id,
           sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes,
           sum(releases) AS releases, sum(released_bytes) AS released_bytes, sum(sign) AS sign
    FROM (
        SELECT alike_range_id, line,
               count(*) FILTER (WHERE operation = 'allocation') AS allocations,
               sum(bytes) FILTER (WHERE operation = 'allocation') AS allocated_bytes,
               count(*) FILTER (WHERE operation = 'release') AS releases,
               sum(bytes) FILTER (WHERE operation = 'release') AS released_bytes,
               sum(hash(place)) AS sign
        FROM done
        GROUP BY alike_range_id, line
    )
    JOIN placed USING (alike_range_id)
    GROUP BY kind_id, line
),
-- Many ranges have only those of one range inside them: the same sign, and the same balance.
same AS MATERIALIZED (
    SELECT *, min(kind_id) OVER (PARTITION BY line, sign, allocations, releases) AS same_id
    FROM sums
),
peaks AS (
    SELECT kind_id, line, max(balance) AS balance
    FROM (
        SELECT kind_id, line,
               sum(CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END) OVER (
                   PARTITION BY kind_id, line ORDER BY place ROWS UNBOUNDED PRECEDING
               ) AS balance
        FROM done
        JOIN placed USING (alike_range_id)
        SEMI JOIN (FROM same WHERE kind_id = same_id) AS first USING (kind_id, line)
    )
    GROUP BY kind_id, line
)
SELECT CASE WHEN first_id = last_id THEN path ELSE kind END AS path, process_id, device_id,
       memory_kind, ranges, TRY_CAST(allocations AS BIGINT) AS allocations,
       TRY_CAST(coalesce(allocated_bytes, 0) AS BIGINT) AS allocated_bytes,
       TRY_CAST(releases AS BIGINT) AS releases,
       TRY_CAST(coalesce(released_bytes, 0) AS BIGINT) AS released_bytes,
       TRY_CAST(greatest(balance, 0) AS BIGINT) AS most_bytes
FROM same
JOIN counted USING (kind_id, line)
JOIN peaks ON peaks.kind_id = same_id AND peaks.line = same.line
JOIN (SELECT DISTINCT line, process_id, device_id, memory_kind FROM operations) AS lines
    ON lines.line = same.line
JOIN _alike_path AS alike ON alike.alike_range_id = first_id
ORDER BY allocated_bytes DESC, path, device_id, process_id, memory_kind
