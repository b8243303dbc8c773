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
WITH placed AS MATERIALIZED (
    SELECT range_id, alike_range_id, kind_id
    FROM _range_parent
    -- Paths can be long, and are compared once.
    JOIN (SELECT alike_range_id, min(alike_range_id) OVER (PARTITION BY kind) AS kind_id
          FROM _alike_path) AS kinds USING (alike_range_id)
),
operations AS (
    SELECT kind_id, alike_range_id, around.around_id, done.process_id, done.device_id,
           done.memory_kind, done.operation, done.bytes,
           sum(CASE done.operation WHEN 'allocation' THEN done.bytes ELSE -done.bytes END) OVER (
               PARTITION BY kind_id, done.process_id, done.device_id, done.memory_kind
               ORDER BY done.timestamp_ns, done.operation
           ) AS balance
    FROM memory_operation AS done
    JOIN _range_around AS around ON around.range_id = done.range_id
    JOIN placed ON placed.range_id = around.around_id
),
sums AS (
    SELECT min(alike_range_id) AS first_id, max(alike_range_id) AS last_id, process_id, device_id,
           memory_kind, count(DISTINCT around_id) AS ranges,
           count(*) FILTER (WHERE operation = 'allocation') AS allocations,
           TRY_CAST(coalesce(sum(bytes) FILTER (WHERE operation = 'allocation'), 0) AS BIGINT)
               AS allocated_bytes,
           count(*) FILTER (WHERE operation = 'release') AS releases,
           TRY_CAST(coalesce(sum(bytes) FILTER (WHERE operation = 'release'), 0) AS BIGINT)
               AS released_bytes,
           TRY_CAST(greatest(max(balance), 0) AS BIGINT) AS most_bytes
    FROM operations
    GROUP BY kind_id, process_id, device_id, memory_kind
)
SELECT CASE WHEN first_id = last_id THEN path ELSE kind END AS path,
       sums.* EXCLUDE (first_id, last_id)
FROM sums
JOIN _alike_path AS alike ON alike.alike_range_id = first_id
ORDER BY allocated_bytes DESC, path, device_id, process_id, memory_kind
