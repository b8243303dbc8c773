-- Allocations of memory with their release.
--
-- computed: Each allocation in memory with the first release after it of the same address in the
--   same process. Where the address is allocated anew before, it was released with its context, as
--   cudaDeviceReset does, and ends then.
-- requires: memory
-- limits: Without its address nobody knows the release of an allocation, so it is not here; nor is
--   what was allocated before the capture began, nor what a framework's own allocator gives out of
--   memory that it has allocated before.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   address, bytes of memory
--   start_ns BIGINT [epoch ns]: When it was allocated.
--   end_ns BIGINT [epoch ns]: When it was released, at the latest; NULL if it was not.
--   correlation_id BIGINT: The call that allocated it.
--   thread_id INTEGER: The thread that asked for it, where no call did.
--   source VARCHAR: Shared object that asked for it; NULL if not known.
--   name, pool_type, pool_address of memory
WITH allocations AS (
    SELECT *, lead(timestamp_ns) OVER (
                  PARTITION BY process_id, device_id, address ORDER BY timestamp_ns
              ) AS next_ns
    FROM memory
    WHERE operation = 'allocation' AND address IS NOT NULL
),
releases AS (
    SELECT process_id, address, timestamp_ns FROM memory WHERE operation = 'release'
)
SELECT allocations.process_id, allocations.device_id, allocations.memory_kind, allocations.address,
       allocations.bytes, allocations.timestamp_ns AS start_ns,
       least(releases.timestamp_ns, next_ns) AS end_ns,
       allocations.correlation_id, allocations.thread_id, allocations.source, allocations.name,
       allocations.pool_type, allocations.pool_address
FROM allocations
ASOF LEFT JOIN releases
    ON releases.process_id = allocations.process_id
    AND releases.address = allocations.address
    AND releases.timestamp_ns >= allocations.timestamp_ns
