-- Memory that each NVTX range allocated and released, by kind.
--
-- computed: Rows of memory_operation over all ranges with the same path, with those of ranges
--   inside. most_bytes is the most that allocations less releases came to at any time.
-- needs: memory_operation, _range_parent, _range_path
-- requires:
--   memory: no allocations were recorded (capture with the kind memory).
--   marker: no ranges were recorded.
-- limits: As of memory_operation. What was allocated in another range and is released here makes
--   the balance smaller.
-- front: Which ranges of my code allocate memory?
-- first: path, allocations, allocated_bytes, releases, released_bytes, most_bytes, memory_kind
-- label: path = range(path)
-- chart: bars(path, allocated_bytes)
-- example: cupti-etl query range_memory TRACE
-- columns:
--   path VARCHAR: Names of the range and of those around it.
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   ranges BIGINT [ranges]: Ranges that allocated or released some.
--   allocations BIGINT [allocations]: How many.
--   allocated_bytes BIGINT [bytes]: Their sizes.
--   releases BIGINT [releases]: How many.
--   released_bytes BIGINT [bytes]: Their sizes.
--   most_bytes BIGINT [bytes]: The largest balance of the two.
WITH RECURSIVE around AS (
    SELECT range_id AS inner_id, range_id FROM _range_parent
    UNION ALL
    SELECT around.inner_id, parents.parent_range_id
    FROM around
    JOIN _range_parent AS parents ON parents.range_id = around.range_id
    WHERE parents.parent_range_id IS NOT NULL
),
operations AS (
    SELECT _range_path.path, around.range_id, done.process_id, done.device_id, done.memory_kind,
           done.operation, done.bytes,
           sum(CASE done.operation WHEN 'allocation' THEN done.bytes ELSE -done.bytes END) OVER (
               PARTITION BY _range_path.path, done.process_id, done.device_id, done.memory_kind
               ORDER BY done.timestamp_ns, done.operation
           ) AS balance
    FROM memory_operation AS done
    JOIN around ON around.inner_id = done.range_id
    JOIN _range_path ON _range_path.range_id = around.range_id
)
SELECT path, process_id, device_id, memory_kind, count(DISTINCT range_id) AS ranges,
       count(*) FILTER (WHERE operation = 'allocation') AS allocations,
       TRY_CAST(coalesce(sum(bytes) FILTER (WHERE operation = 'allocation'), 0) AS BIGINT)
           AS allocated_bytes,
       count(*) FILTER (WHERE operation = 'release') AS releases,
       TRY_CAST(coalesce(sum(bytes) FILTER (WHERE operation = 'release'), 0) AS BIGINT)
           AS released_bytes,
       TRY_CAST(greatest(max(balance), 0) AS BIGINT) AS most_bytes
FROM operations
GROUP BY path, process_id, device_id, memory_kind
ORDER BY allocated_bytes DESC, path, process_id, device_id, memory_kind
