-- Collective operations by kind, size and algorithm: how long, how fast, how much was exposed.
--
-- computed: Of one operation the ranks' shortest duration counts, as the others also waited; which
--   is which on the ranks is told by _collective_match. Algorithm bandwidth is bytes over it; bus
--   bandwidth that times 2(n-1)/n for AllReduce, (n-1)/n for AllGather, ReduceScatter and AllToAll,
--   1 for others, with n ranks: those of the group, where it is known, else the world size, or the
--   ranks in the trace.
-- needs: _collective_match, process
-- requires:
--   collective: no communication kernels were recorded.
-- limits: Bandwidths are NULL where sizes are not known. An operation counts as matched if two
--   ranks have it, or one if no other of the trace has any like it.
-- front: How fast is communication between GPUs, and how much of it is exposed?
-- first: collective, bytes, operations, median_ns, bus_gbps, exposed_pct, waiting_ns
-- chart: bars(collective, total_ns)
-- example: cupti-etl query collective_bandwidth TRACE
-- alias: nccl_gpu_time_util_map, get_comm_comp_overlap
-- gathered: collective
-- columns:
--   collective VARCHAR: AllReduce, AllGather, ReduceScatter and so on.
--   bytes BIGINT [bytes]: Size of the message; NULL if not known.
--   element_type VARCHAR: Type of an element; NULL if not known.
--   algorithm VARCHAR: RING, TREE, NVLS and so on; NULL if NCCL did not tell.
--   protocol VARCHAR: LL, LL128 or SIMPLE; likewise.
--   ranks BIGINT [ranks]: Ranks that took part, or that are assumed.
--   operations BIGINT [operations]: Operations, each counted once for all ranks.
--   unmatched BIGINT [operations]: Those of single ranks besides, which are part of total_ns and
--     exposed_ns alone.
--   reason VARCHAR: Why these were not matched, or one of the reasons; NULL if all were.
--   median_ns DOUBLE [ns]: Median of the shortest durations.
--   total_ns BIGINT [ns]: Sum of the durations over operations and ranks.
--   exposed_ns BIGINT [ns]: Of this, without compute beside it.
--   exposed_pct DOUBLE [%]: exposed_ns as a share of total_ns.
--   waiting_ns BIGINT [ns]: Of total_ns, what lies above the shortest duration of an operation.
--   algorithm_gbps DOUBLE [gigabytes/s]: Median algorithm bandwidth, in 10^9 bytes a second.
--   bus_gbps DOUBLE [gigabytes/s]: Median bus bandwidth, in 10^9 bytes a second.
WITH world AS (
    SELECT greatest(coalesce(max(world_size), 0),
                    (SELECT count(DISTINCT (process_id, gpu)) FROM _collective_match)) AS n
    FROM process
),
operations AS (
    SELECT collective, max(bytes) AS bytes, max(element_type) AS element_type,
           max(algorithm) AS algorithm, max(protocol) AS protocol,
           coalesce(max(group_size), any_value(n)) AS n, any_value(reason) AS reason,
           CASE WHEN any_value(reason) IS NULL THEN min(end_ns - start_ns) END AS shortest_ns,
           sum(end_ns - start_ns) AS total_ns, sum(exposed_ns) AS exposed_ns, count(*) AS members
    FROM _collective_match, world
    GROUP BY collective, operation
)
SELECT collective, bytes, element_type, algorithm, protocol, TRY_CAST(n AS BIGINT) AS ranks,
       count(*) FILTER (WHERE reason IS NULL) AS operations, count(reason) AS unmatched,
       max(reason) AS reason,
       median(shortest_ns) AS median_ns, TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
       TRY_CAST(sum(exposed_ns) AS BIGINT) AS exposed_ns,
       100.0 * sum(exposed_ns) / nullif(sum(total_ns), 0) AS exposed_pct,
       TRY_CAST(sum(total_ns - members * shortest_ns) AS BIGINT) AS waiting_ns,
       median(bytes / nullif(shortest_ns, 0)) AS algorithm_gbps,
       median(bytes / nullif(shortest_ns, 0)
              * CASE WHEN collective = 'AllReduce' THEN 2.0 * (n - 1) / nullif(n, 0)
                     WHEN collective IN ('AllGather', 'ReduceScatter', 'AllToAll')
                     THEN (n - 1.0) / nullif(n, 0) ELSE 1 END) AS bus_gbps
FROM operations
GROUP BY collective, bytes, element_type, algorithm, protocol, n
ORDER BY total_ns DESC, collective, bytes, element_type, algorithm, protocol, n
